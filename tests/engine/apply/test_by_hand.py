"""Playbook and inventory for Ansible without `sovctl apply`, read by the real Ansible."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from example_sites import MakeSite, cluttered
from planned_nodes import empty
from real_plays import no_configuration
from strategies import PRESETS

from sovctl.engine.apply import ansible
from sovctl.engine.apply.desired_inventory import UNSAFE, desired_inventory, groups
from sovctl.engine.apply.roles import PLANNED_ONLY
from sovctl.engine.plan.order import RESOURCE_TYPES
from sovctl.engine.resources.context import ROLES
from sovctl.engine.site.site import Site

SCRIPT = ansible.PACKAGE / "inventory" / "site.py"
PLAYBOOK = ansible.PACKAGE / "playbooks" / "site.yml"
WHEEL = Path("/w/sovctl.whl")


def run_ansible(command: str, folder: Path, site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """An Ansible command with the dynamic inventory of a site, as a person runs it."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")} | {
        "ANSIBLE_ROLES_PATH": str(ROLES),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_CONFIG": no_configuration(folder),
        "LC_ALL": "C.UTF-8",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SOVCTL_SITE": str(site),
    }
    words = [sys.executable, "-W", "ignore", "-m", "ansible", command, "-i", str(SCRIPT), *arguments]
    return subprocess.run(words, capture_output=True, text=True, env=environment, check=False)


def script(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The inventory script alone."""
    environment = {**os.environ, "SOVCTL_SITE": str(site)}
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, env=environment, check=False
    )


def listed(site: Site) -> dict[str, Any]:
    return desired_inventory(site, site.context(), {}, wheel=WHEEL)


def test_the_playbook_has_every_role_in_the_order_of_a_plan_with_a_tag_of_its_name() -> None:
    [play] = yaml.safe_load(PLAYBOOK.read_text())
    names = [kind.name for kind in RESOURCE_TYPES if kind.name not in PLANNED_ONLY]
    assert [each["role"] for each in play["roles"]] == names
    assert [each["tags"] for each in play["roles"]] == [[name] for name in names]
    assert [each["when"] for each in play["roles"]] == [f"'{name}' in sovctl_roles" for name in names]


def test_ansible_lists_the_tasks_of_chosen_roles_only(make_site: MakeSite, tmp_path: Path) -> None:
    site = make_site("lab").folder / "site.yaml"
    arguments = ("--list-tasks", "--limit", "n1", "--tags", "clock,perimeter", str(PLAYBOOK))
    done = run_ansible("playbook", tmp_path, site, *arguments)
    assert done.returncode == 0, done.stderr
    tasks = [line.split("TAGS:")[0].strip() for line in done.stdout.splitlines() if "TAGS: [" in line][1:]
    assert {task.split(" : ")[0] for task in tasks if "Validating arguments" not in task} == {"clock", "perimeter"}
    assert "perimeter : Load the rules at boot" in tasks


def test_ansible_reads_hosts_groups_and_texts_with_braces(make_site: MakeSite, tmp_path: Path) -> None:
    site = make_site("lab")
    done = run_ansible("inventory", tmp_path, site.folder / "site.yaml", "--list")
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert set(read["_meta"]["hostvars"]) == {node.name for _, node in site.spec.nodes()}
    for name, hosts in groups(site, site.context()).items():
        assert read[name]["hosts"] == hosts
    limited = run_ansible("inventory", tmp_path, site.folder / "site.yaml", "--host", "n1")
    assert json.loads(limited.stdout)["sovctl_planned"] is False


@pytest.mark.parametrize("preset", PRESETS)
def test_hosts_have_the_roles_of_all_their_resources(preset: str, make_site: MakeSite) -> None:
    site = make_site(preset)
    hosts = listed(site)["_meta"]["hostvars"]
    names = [node.name for _, node in site.spec.nodes()]
    assert list(hosts) == names
    gateways = site.spec.gateway.nodes if site.spec.gateway else []
    for name, variables in hosts.items():
        assert ("gateway" in variables["sovctl_roles"]) == (name in gateways)
        assert not PLANNED_ONLY & {*variables["sovctl_roles"]}
        assert all(f"{role}_items" in variables for role in variables["sovctl_roles"])


def test_groups_are_node_groups_pools_and_gateways(make_site: MakeSite) -> None:
    site = make_site("lab")
    found = groups(site, site.context())
    assert found["gateway"] == ["s1"]
    assert {name for name in found if name.startswith("pool_")} == {
        f"pool_{pool.name}".replace("-", "_") for pool in site.spec.pools
    }
    assert not any("-" in name for name in found)


def test_orphans_come_from_recorded_facts_only(make_site: MakeSite) -> None:
    site = make_site("lab")
    context = site.context()
    known = desired_inventory(site, context, {"n1": cluttered("n1"), "n2": empty("n2")}, wheel=WHEEL)["_meta"]
    assert [each["name"] for each in known["hostvars"]["n1"]["pool_orphans"]] == ["former"]
    assert "pool_orphans" not in known["hostvars"]["n2"]


def test_no_secret_is_in_the_output(make_site: MakeSite) -> None:
    site = make_site("bank-hybrid")
    assert script(site.folder / "site.yaml", "--prepare").returncode == 0
    done = script(site.folder / "site.yaml", "--list")
    assert done.returncode == 0, done.stderr
    values = [path.read_text().strip() for path in site.state.keys.iterdir()]
    values += [path.read_text() for path in site.folder.glob("secrets/*")]
    assert len(values) > 3
    for value in values:
        assert value.splitlines()[-1].strip() not in done.stdout or value.startswith(("-----", "["))


def test_list_writes_no_file_and_prepare_writes_what_roles_copy(make_site: MakeSite) -> None:
    site = make_site("lab")
    before = sorted(site.folder.rglob("*"))
    done = script(site.folder / "site.yaml", "--list")
    assert done.returncode == 0, done.stderr
    assert sorted(site.folder.rglob("*")) == before
    assert script(site.folder / "site.yaml", "--prepare").returncode == 0
    hosts = json.loads(done.stdout)["_meta"]["hostvars"].values()
    sources = [item["source"] for host in hosts for item in host.get("credential_items", [])]
    codes = [item["code"] for host in hosts for item in host.get("environment_items", []) if item["code"]]
    assert sources
    assert codes
    assert [path for path in [*sources, *codes] if not Path(path).is_file()] == []


def test_an_invalid_site_is_a_message_and_an_exit_code(tmp_path: Path) -> None:
    done = script(tmp_path / "absent.yaml", "--list")
    assert done.returncode == 3
    assert "absent.yaml" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_text_with_a_brace_is_marked_and_ansible_reads_it_unchanged(make_site: MakeSite, tmp_path: Path) -> None:
    site = make_site("bank-hybrid")
    content = listed(site)
    assert [text for text in texts(content) if "{" in text] == []
    marked = [text for text in texts(content, inside=True) if "{" in text]
    assert marked
    done = run_ansible("inventory", tmp_path, site.folder / "site.yaml", "--list", "--export")
    read = [text for text in texts(json.loads(done.stdout), inside=True) if "{" in text]
    assert set(marked) <= set(read)


def texts(value: Any, *, inside: bool = False) -> Iterator[str]:
    """All texts of a document; with `inside`, only those marked as no template."""
    if isinstance(value, dict):
        if UNSAFE in value:
            yield from [value[UNSAFE]] if inside else []
        else:
            yield from (text for each in value.values() for text in texts(each, inside=inside))
    elif isinstance(value, list):
        yield from (text for each in value for text in texts(each, inside=inside))
    elif isinstance(value, str) and not inside:
        yield value
