"""The two descriptions of a node agree: what the plan expects, and what the roles write."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from example_sites import MakeSite, all_roles
from hypothesis import given
from hypothesis import strategies as st
from mirror_site import mirror_site
from monitored_site import monitored_site
from mps_site import mps_site
from real_plays import no_configuration, play
from retrieval_site import retrieval_site
from strategies import PRESETS
from swap_site import swap_site

from examples import examples, sample
from sovctl.engine.apply import ansible
from sovctl.engine.plan.order import RESOURCE_TYPES
from sovctl.engine.resources.context import ROLES, render
from sovctl.engine.resources.removal import node_removal
from sovctl.engine.validation.load import references
from sovctl.support.canonical_json import sha256_hex

Variables = dict[str, Any]
RACK: Variables = {"name": "domain", "path": "/etc/nvidia-imex/nodes_config.cfg", "nodes": ["192.0.2.11", "192.0.2.12"]}
"""Item of the role imex. No preset has a rack-scale board."""


def template_variables(roles: dict[str, ansible.RoleVariables]) -> list[tuple[str, str, Variables]]:
    """(role, template, variables) for every template of every role, as the role's tasks give them."""
    found: list[tuple[str, str, Variables]] = []
    for role, variables in roles.items():
        for item in variables.get(f"{role}_items", []):
            match role:
                case "repository":
                    found.append(
                        (role, "sovctl.sources.j2", {"url": item["url"], "key": "/etc/apt/keyrings/sovctl.asc"})
                    )
                    found.append((role, "99sovctl.j2", {"ca": item["ca_file"]}))
                    found.append((role, "mirrors.txt.j2", {"urls": item["urls"]}))
                    found.append((role, "preferences.j2", {"driver_version": item["driver_version"]}))
                case "site_mirror":
                    values = {key: item[key] for key in ("address", "port", "root", "clients")}
                    found += [(role, "mirror.conf.j2", {"mirror": values}), (role, "unit.service.j2", {})]
                case "monitoring":
                    found.append((role, "unit.service.j2", {"item": item}))
                case "retrieval":
                    found.append((role, f"{item['name']}.service.j2", {"item": item}))
                case "gpu_modes":
                    found += [(role, "mps.service.j2", {"item": item})] if item["name"].startswith("mps-") else []
                case "tuning":
                    found.append((role, "90-sovctl.conf.j2", {"settings": item["settings"]}))
                    found.append((role, "limits.conf.j2", {"limits": item["limits"]}))
                case "clock":
                    found.append((role, "chrony.conf.j2", {"servers": item["servers"]}))
                case "resolver":
                    values = {key: item[key] for key in ("servers", "search")}
                    found += [(role, name, values) for name in ("resolv.conf.j2", "resolved.conf.j2")]
                case "administrator":
                    found += [(role, name, {"item": item}) for name in ("keys.j2", "sudoers.j2")]
                case "kernel":
                    found.append((role, "grub.cfg.j2", {"options": item["options"]}))
                    found.append((role, "modules-load.conf.j2", {"load": item["load"]}))
                    values = {key: item[key] for key in ("blocked", "parameters")}
                    found.append((role, "modprobe.conf.j2", values))
                case "hardware":
                    found.append((role, "unit.service.j2", {"arguments": item["arguments"]}))
                case "audit":
                    found.append((role, "sovctl.rules.j2", {"rules": item["rules"]}))
                    found.append((role, "auditd.conf.j2", {"audit": item["settings"]}))
                case "log_forwarding":
                    values = {key: value for key, value in item.items() if key != "name"}
                    found.append((role, "rsyslog.conf.j2", values))
                case "sshd":
                    values = {key: item[key] for key in ("people", "settings", "keys")}
                    found.append((role, "sshd.conf.j2", values))
                case "perimeter":
                    rules = {key: item[key] for key in ("inbound", "outbound")}
                    found.append((role, "nftables.conf.j2", rules))
                case "gateway":
                    found.append((role, "gateway.yaml.j2", {"configuration": item["configuration"]}))
                    found.append((role, "unit.service.j2", {"user": item["user"], "data": item["data"]}))
                case "swap_group":
                    names = ("swap.json", "proxy.conf", "swap.service", "proxy.service")
                    found += [(role, f"{name}.j2", {"item": item, "proxy": item["proxy_settings"]}) for name in names]
                case "pool":
                    names = ("pool.yaml", "unit.service", "probe.json", "probe.service", "probe.timer")
                    names += ("group.json", "group.service") if item["group"] else ()
                    names += ("nginx.conf", "proxy.service") if item["proxy"] else ()
                    found += [(role, f"{name}.j2", {"item": item}) for name in names]
    return found


@pytest.mark.slow
def test_the_engine_renders_every_template_as_ansible_does(make_site: MakeSite, tmp_path: Path) -> None:
    cases: dict[str, tuple[str, str, Variables]] = {}
    sites = [
        *map(make_site, PRESETS),
        mirror_site(tmp_path / "mirror"),
        monitored_site(tmp_path / "monitored"),
        retrieval_site(tmp_path / "retrieval"),
        swap_site(tmp_path / "swap"),
        mps_site(tmp_path / "mps"),
    ]
    for site in sites:
        for roles in all_roles(site).values():
            for role, template, variables in template_variables(roles):
                # One of each, and one for every set of flags: the rest differs in numbers and addresses.
                flags = "+".join(variables["item"]["flags"]) if template == "pool.yaml.j2" else ""
                if (role, template) == ("pool", "unit.service.j2"):
                    flags = str("CUDA_MPS_PIPE_DIRECTORY" in variables["item"]["environment"])
                cases.setdefault(sha256_hex(f"{role} {template} {flags}"), (role, template, variables))
    cases["imex"] = ("imex", "nodes_config.cfg.j2", {"nodes": RACK["nodes"]})
    assert {(role, name) for role, name, _ in cases.values()} == {
        (path.parts[-3], path.name) for path in ROLES.glob("*/templates/*")
    }
    of_pools = sample([name for name, (_, template, _) in cases.items() if template == "pool.yaml.j2"])
    cases = {name: case for name, case in cases.items() if case[1] != "pool.yaml.j2" or name in of_pools}
    tasks = []
    for name, (role, template, variables) in cases.items():
        source = str(ROLES / role / "templates" / template)
        module = {"src": source, "dest": str(tmp_path / name), "mode": "0600"}
        tasks.append(
            {"name": name, "ansible.builtin.template": module, "vars": {"case": variables, **_lifted(variables)}}
        )
    assert play(tmp_path, tasks) == []
    for name, (role, template, variables) in cases.items():
        assert (tmp_path / name).read_text() == render(role, template, **variables), (role, template)


def _lifted(variables: Variables) -> Variables:
    """Each variable by way of another one, as the roles pass them: `settings: "{{ tuning_items[0].settings }}"`."""
    return {name: f"{{{{ case.{name} }}}}" for name in variables}


def test_every_role_takes_what_the_engine_gives_and_nothing_else(make_site: MakeSite, tmp_path: Path) -> None:
    tasks, seen = [], set()
    for site in [
        *map(make_site, PRESETS),
        mirror_site(tmp_path / "mirror"),
        monitored_site(tmp_path / "monitored"),
        retrieval_site(tmp_path / "retrieval"),
        swap_site(tmp_path / "swap"),
        mps_site(tmp_path / "mps"),
    ]:
        for node, roles in all_roles(site).items():
            for role, variables in roles.items():
                keys = (role, json.dumps({name: sorted(each[0]) for name, each in variables.items()}))
                if keys not in seen:
                    seen.add(keys)
                    tasks.append(_validate(f"{site.spec.site.name} {node} {role}", role, variables))
    tasks.append(_validate("imex", "imex", {"imex_items": [RACK]}))
    kinds = {role for role, _ in seen} | {"imex"}
    # An empty node has nothing for the other types to repair or to remove.
    assert kinds == {kind.name for kind in RESOURCE_TYPES} - {"attributes", "unit", "superseded_environment"}
    assert play(tmp_path, tasks) == []


@pytest.mark.parametrize(
    ("role", "variables"),
    [
        ("clock", {"clock_items": [{"name": "chrony", "servers": ["192.0.2.1"], "drift": 1}]}),
        ("pool", {"pool_orphans": [{"name": "former"}]}),
    ],
    ids=["one too many", "one too few"],
)
def test_a_role_refuses_variables_that_it_does_not_declare(role: str, variables: Variables, tmp_path: Path) -> None:
    [message] = play(tmp_path, [_validate("refused", role, variables)])
    assert "drift" in message or "units" in message


def _validate(name: str, role: str, variables: ansible.RoleVariables | dict[str, Any]) -> dict[str, Any]:
    spec = yaml.safe_load((ROLES / role / "meta" / "argument_specs.yml").read_text())
    options = spec["argument_specs"]["main"]["options"]
    module = {"argument_spec": options, "provided_arguments": dict(variables)}
    return {"name": name, "ansible.builtin.validate_argument_spec": module}


def test_there_is_a_role_for_every_kind_and_a_kind_for_every_role() -> None:
    kinds = {kind.name for kind in (*RESOURCE_TYPES, node_removal.RESOURCE_TYPE)}
    assert {path.name for path in ROLES.iterdir() if (path / "tasks").is_dir()} == kinds


def test_the_playbook_and_every_role_are_read_by_ansible(make_site: MakeSite, tmp_path: Path) -> None:
    site = make_site("lab")
    inventory = ansible.inventory(site.spec, site.folder, all_roles(site))
    (tmp_path / "inventory.yaml").write_text(ansible.inventory_text(inventory))
    playbook = str(ansible.PACKAGE / "playbooks" / "apply.yml")
    command = [sys.executable, "-W", "ignore", "-m", "ansible", "playbook", "--syntax-check"]
    command += ["-i", str(tmp_path / "inventory.yaml"), playbook]
    environment = {
        **os.environ,
        "ANSIBLE_ROLES_PATH": str(ROLES),
        "ANSIBLE_CONFIG": no_configuration(tmp_path),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


@given(st.recursive(st.text(max_size=12) | st.integers() | st.none(), lambda each: st.lists(each, max_size=3)))
@examples(50)
def test_an_inventory_says_what_it_was_given(value: Any) -> None:
    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))
    given_inventory = {"all": {"vars": {"a": value, "b": "{{ 1 }}"}}}
    text = ansible.inventory_text(given_inventory)
    assert yaml.load(text, Loader=Loader) == given_inventory
    assert '!unsafe "{{ 1 }}"' in text


def test_what_looks_like_a_template_in_site_yaml_is_a_text(tmp_path: Path) -> None:
    made = tmp_path / "evaluated"
    words = [f"{{{{ lookup('pipe', 'touch {made}') }}}}", "[A-Z]{{2}}", "{% if %}", "[{#]", "{{"]
    configuration = yaml.safe_dump({"patterns": words}).rstrip("\n")
    host = {"gateway_items": [{"configuration": configuration}], "words": words}
    template = {"src": str(ROLES / "gateway" / "templates" / "gateway.yaml.j2"), "dest": str(tmp_path / "written")}
    copied = {"content": "{{ words | join('|') }}", "dest": str(tmp_path / "joined")}
    tasks = [
        {"ansible.builtin.template": template, "vars": {"configuration": "{{ gateway_items[0].configuration }}"}},
        {"ansible.builtin.copy": copied},
    ]
    assert play(tmp_path, tasks, inventory={"all": {"hosts": {"localhost": host}}}) == []
    assert (tmp_path / "written").read_text() == render("gateway", "gateway.yaml.j2", configuration=configuration)
    assert (tmp_path / "joined").read_text() == "|".join(words)
    assert not made.exists()


def test_known_hosts_may_lie_in_a_folder_with_a_blank(make_site: MakeSite) -> None:
    site = make_site("lab")
    folder = site.folder / "my site 100%"
    variables = ansible.inventory(site.spec, folder, {})["all"]["vars"]
    command = ["ssh", "-G", *shlex.split(variables["ansible_ssh_common_args"]), "n1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    known = (folder / site.spec.access.known_hosts_file).resolve()
    assert f'userknownhostsfile "{known}"' in done.stdout or f"userknownhostsfile {known}" in done.stdout


@pytest.mark.parametrize("preset", PRESETS)
def test_no_secret_is_ever_in_an_inventory(preset: str, make_site: MakeSite) -> None:
    site = make_site(preset)
    text = json.dumps(ansible.inventory(site.spec, site.folder, all_roles(site)))
    values = {(site.folder / (each.file or "")).read_text().strip() for each in references(site.spec)}
    values |= {path.read_text().strip() for path in site.state.keys.iterdir()}
    values |= {path.read_text().strip() for path in site.state.pki.glob("*.key")}
    assert len(values) > 5
    for value in values:
        assert value not in text
        assert value.splitlines()[-1] not in text or value.startswith(("-----", "["))


def test_roles_run_in_the_order_of_kinds_with_what_must_go_beside_what_comes(make_site: MakeSite) -> None:
    roles = all_roles(make_site("lab"))
    order = [kind.name for kind in RESOURCE_TYPES]
    for of_node in roles.values():
        assert list(of_node) == sorted(of_node, key=order.index)
    assert [each["name"] for each in roles["n1"]["pool"]["pool_orphans"]] == ["former"]
    assert roles["n1"]["gateway"].keys() == {"gateway_orphans"}
    assert roles["s1"]["gateway"].keys() == {"gateway_items"}
    assert roles["s1"]["pool"].keys() == {"pool_orphans"}
