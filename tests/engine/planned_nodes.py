"""Nodes that are exactly as a plan says, as facts, and everything about them that somebody could change by hand.

This is the other end of the kinds' `observe`: it knows where things lie on a node and what tools say of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import planned_files
import planned_host
from node_edits import OTHER_SHA256, WRITTEN_S, Change, Handle, with_answer, with_file, with_text, with_unit
from strategies import context, credential_sha256

from sovctl.engine.catalog.engines import ENGINES
from sovctl.engine.facts import running
from sovctl.engine.facts.node import InstalledPackage, NodeFacts
from sovctl.engine.facts.operating_system import OperatingSystem, SecureBoot, Virtualization
from sovctl.engine.plan.build import desired_on
from sovctl.engine.resources.context import ROLES, render
from sovctl.engine.resources.mirror import server, snapshot, urls
from sovctl.engine.resources.pool import PROCESSES
from sovctl.engine.resources.resource import Desired
from sovctl.engine.resources.serving.command_line import arguments
from sovctl.engine.resources.serving.group import AGENT_PROGRAMS, AGENT_TEMPLATES, agent_files, agent_unit
from sovctl.engine.resources.serving.proxy import PROXY_TEMPLATES, proxy_files, proxy_unit
from sovctl.engine.resources.software import environment, model
from sovctl.engine.spec import Node
from sovctl.support.canonical_json import sha256_hex

DEBIAN_12 = OperatingSystem(
    id="debian",
    version="12",
    title="Debian GNU/Linux 12 (bookworm)",
    kernel="6.1.0-30-amd64",
    architecture="x86_64",
    secure_boot=SecureBoot.DISABLED,
    virtualization=Virtualization.METAL,
)
BOOTED_S = WRITTEN_S - 3600
BOOT_ID = "663a30d8-26c3-4f15-a35f-cc95c37922be"


def empty(node: str) -> NodeFacts:
    """A machine with nothing on it but a firewall program without rules."""
    texts = {**dict.fromkeys(running.READ), running.BOOT_ID: f"{BOOT_ID}\n"}
    answers = {"started": answer(f"UserspaceTimestamp=@{BOOTED_S}\n"), "kernel": answer("6.1.0-30-amd64\n")}
    answers |= {"system": answer("running\n"), "firmware": answer("[]\n"), **planned_host.ANSWERS_OF_BARE_NODE}
    return NodeFacts(node, "2026-11-21T09:00:00Z", True, False, {}, {}, texts, {}, (), {}, answers, DEBIAN_12)


def answer(stdout: str, exit_code: int = 0) -> dict[str, Any]:
    """What a command of the probe printed."""
    return {"exit_code": exit_code, "stdout": stdout, "stderr": ""}


def with_tree(facts: NodeFacts, query: str, path: str, **fields: Any) -> NodeFacts:
    """The same with a folder that was compared with its manifest, or with some properties of it changed."""
    trees = json.loads(facts.answers[query]["stdout"])
    new = {"root": path, "manifest_sha256": OTHER_SHA256, "entries": 3, "changed": [], "more": 0}
    trees[path] = {**trees.get(path, new), **fields}
    return with_answer(facts, query, json.dumps(trees))


@cache
def planned(preset: str) -> tuple[dict[str, NodeFacts], tuple[tuple[str, Handle], ...]]:
    """Facts of every node of a preset as planned, and (node, handle) for every observed value."""
    facts, handles = {}, []
    for _, node in context(preset).spec.nodes():
        facts[node.name] = empty(node.name)
        for desired in desired_on(context(preset), node, empty(node.name)):
            facts[node.name] = _PUT[desired.kind](facts[node.name], desired, node)
            handles += [(node.name, each) for each in _HANDLES[desired.kind](desired)]
    return facts, tuple(handles)


def _put_repository(facts: NodeFacts, desired: Desired, node: Node) -> NodeFacts:
    state = desired.state or {}
    if "ca_fingerprint" in state:
        facts = with_file(facts, urls.CA, credential_sha256(node.name, urls.CA_FILE))
    for path, key in REPOSITORY.items():
        if key in state:
            facts = with_file(facts, path, state[key])
    return facts


def _put_package(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    state = desired.state or {}
    if desired.name == "dependencies":
        return with_answer(facts, "simulation debian-12", "")
    package = InstalledPackage(state.get("version", "1.2-3"), state.get("is_held", False))
    return replace(facts, packages={**facts.packages, desired.name: package})


def _put_site_mirror(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    state = desired.state or {}
    facts = with_file(facts, server.CONFIG, state["config_sha256"])
    return with_unit(with_file(facts, server.UNIT_FILE, state["unit_sha256"]), server.UNIT)


def _put_tuning(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    facts = with_file(facts, TUNING[desired.name], (desired.state or {})["file_sha256"])
    return replace(facts, sysctls={**facts.sysctls, **desired.variables["settings"]})


def _put_clock(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    return with_unit(with_file(facts, CHRONY, (desired.state or {})["file_sha256"]), "chrony")


def _put_perimeter(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    text = render("perimeter", "nftables.conf.j2", **desired.variables)
    facts = with_unit(with_file(facts, WALL, sha256_hex(text)), "nftables")
    return replace(facts, ruleset=tuple(text[text.index("table ") :].splitlines()))


def _put_credential(facts: NodeFacts, desired: Desired, node: Node) -> NodeFacts:
    state, sha256 = desired.state or {}, credential_sha256(node.name, desired.name)
    return with_file(facts, desired.variables["path"], sha256, mode=state["mode"], uid=state["uid"])


def _put_environment(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    state, root = desired.state or {}, f"/opt/sovctl/{desired.name}-{(desired.state or {})['built_from'][:12]}"
    for path in (desired.variables["link"], root):
        facts = with_text(facts, f"{path}/.built-from", f"{state['built_from']}\n")
        facts = with_file(facts, f"{path}/lock.txt", state["lock_sha256"])
        facts = with_tree(facts, environment.TREES, path, root=root, manifest_sha256=state["tree_sha256"])
    name = root.rpartition("/")[2]
    entries = facts.answers[environment.FOLDERS]["stdout"] + f"{name}\t\n{desired.name}\t{root}\n"
    return with_answer(facts, environment.FOLDERS, entries)


def _put_model(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    folder = desired.variables["folder"]
    facts = with_file(facts, f"{folder}/MANIFEST", (desired.state or {})["manifest_sha256"])
    facts = with_file(facts, f"{folder}/.verified")
    return with_tree(facts, model.TREES, folder, manifest_sha256=(desired.state or {})["tree_sha256"])


def _put_pool(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    item, name = {"name": desired.name, **desired.variables}, desired.name
    facts = with_text(facts, f"/etc/sovctl/pools/{name}.yaml", render("pool", "pool.yaml.j2", item=item))
    facts = with_file(facts, PROBE, sha256_hex((ROLES / "pool" / "files" / "probe").read_bytes()))
    facts = with_file(facts, LAUNCHER, sha256_hex((ROLES / "pool" / "files" / "serve").read_bytes()))
    facts = with_file(facts, ROUTES, sha256_hex((ROLES / "pool" / "files" / "sovctl_routes.py").read_bytes()))
    facts = with_process(facts, f"sovctl-pool-{name}.service", server_process(desired))
    for template, path in {
        "unit.service.j2": f"{UNITS}/sovctl-pool-{name}.service",
        "probe.service.j2": f"{UNITS}/sovctl-probe-{name}.service",
        "probe.timer.j2": f"{UNITS}/sovctl-probe-{name}.timer",
        "probe.json.j2": f"/etc/sovctl/pools/{name}.probe.json",
    }.items():
        facts = with_file(facts, path, sha256_hex(render("pool", template, item=item)))
    if desired.variables["group"]:
        facts = _put_agent(facts, item)
    if desired.variables["proxy"]:
        for template, path in zip(PROXY_TEMPLATES, proxy_files(name), strict=True):
            facts = with_file(facts, path, sha256_hex(render("pool", template, item=item)))
        facts = with_unit(facts, proxy_unit(name))
    facts = with_unit(facts, f"sovctl-pool-{name}", enabled=(desired.state or {})["enabled"])
    return with_unit(facts, f"sovctl-probe-{name}.timer")


def _put_agent(facts: NodeFacts, item: dict[str, Any]) -> NodeFacts:
    """Put the agent of a rank of a replica on several nodes."""
    for path in AGENT_PROGRAMS:
        program = ROLES / "pool" / "files" / path.rpartition("/")[2]
        facts = with_file(facts, path, sha256_hex(program.read_bytes()))
    for template, path in zip(AGENT_TEMPLATES, agent_files(item["name"]), strict=True):
        facts = with_file(facts, path, sha256_hex(render("pool", template, item=item)))
    return with_unit(facts, agent_unit(item["name"]))


def server_process(desired: Desired) -> dict[str, Any]:
    """The process of a pool's unit as planned, in the form of the process probe."""
    engine = (desired.state or {})["running_engine"][0].removesuffix(environment.GENERATION)
    kind, flags = ENGINES[desired.variables["engine"]["name"]], desired.variables["flags"]
    argv = [*kind.command_line(str(flags["model"])), *arguments(flags)[1:]]
    if kind.environment == "vllm":  # a script
        argv = [f"{engine}/bin/python", *argv]
    systemd = {"PATH": "(not read)", "INVOCATION_ID": "(not read)", "HOME": "/var/lib/sovctl/vllm"}
    return {"pid": 700, "argv": argv, "environment": systemd | desired.variables["environment"], "folders": [engine]}


def with_process(facts: NodeFacts, unit: str, process: dict[str, Any]) -> NodeFacts:
    """The same with a process of a unit."""
    said = facts.answers.get(PROCESSES, {"stdout": ""})["stdout"]
    others = [line for line in said.splitlines() if json.loads(line)["unit"] != unit]
    lines = [*others, json.dumps({"unit": unit, **process})]
    answer = {"exit_code": 0, "stdout": "\n".join(lines) + "\n", "stderr": ""}
    return replace(facts, answers={**facts.answers, PROCESSES: answer})


def _put_gateway(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    state = desired.state or {}
    facts = with_file(facts, SETTINGS, state["config_sha256"])
    return with_unit(with_file(facts, GATEWAY_UNIT, state["unit_sha256"]), "sovctl-gateway")


REPOSITORY = {
    "/etc/apt/sources.list.d/sovctl.sources": "source_sha256",
    "/etc/apt/keyrings/sovctl.asc": "key_sha256",
    "/etc/apt/apt.conf.d/99sovctl": "policy_sha256",
    "/etc/apt/preferences.d/sovctl": "pin_sha256",
}
TUNING = {"kernel": "/etc/sysctl.d/90-sovctl.conf", "limits": "/etc/security/limits.d/90-sovctl.conf"}
CHRONY, WALL, SETTINGS = "/etc/chrony/chrony.conf", "/etc/nftables.conf", "/etc/sovctl/gateway.yaml"
ROUTES = "/usr/local/lib/sovctl/sovctl_routes.py"
UNITS, PROBE, LAUNCHER = "/etc/systemd/system", "/usr/local/lib/sovctl/probe", "/usr/local/lib/sovctl/serve"
GATEWAY_UNIT = f"{UNITS}/sovctl-gateway.service"

__all__ = ["Handle", "empty", "planned", "with_file", "with_text", "with_tree", "with_unit"]

_PUT: dict[str, Callable[[NodeFacts, Desired, Node], NodeFacts]] = {
    "repository": _put_repository,
    "package": _put_package,
    "service": lambda facts, desired, _node: with_unit(
        facts, desired.name, **{key: (desired.state or {})[key] for key in ("active", "enabled")}
    ),
    "tuning": _put_tuning,
    "reboot": lambda facts, _desired, _node: facts,  # nothing is pending on a node that was just started
    "clock": _put_clock,
    "perimeter": _put_perimeter,
    "credential": _put_credential,
    "environment": _put_environment,
    "model": _put_model,
    "pool": _put_pool,
    "gateway": _put_gateway,
    "mirror_snapshot": lambda facts, desired, _node: with_file(
        facts, snapshot.MANIFEST, (desired.state or {})["snapshot_manifest_sha256"]
    ),
    "site_mirror": _put_site_mirror,
    **planned_host.PUT,
    **planned_files.PUT,
}


def _file(path: str, **fields: Any) -> Change:
    """Another content, or other properties, of a file that is there."""
    fields = fields or {"sha256": OTHER_SHA256}
    return lambda facts: replace(facts, files={**facts.files, path: {**facts.files[path], **fields}})


def _unit(name: str, **fields: Any) -> Change:
    return lambda facts: replace(facts, units={**facts.units, name: replace(facts.units[name], **fields)})


def _package(name: str, **fields: Any) -> Change:
    return lambda facts: replace(facts, packages={**facts.packages, name: replace(facts.packages[name], **fields)})


def _unit_handles(desired: Desired, unit: str, *, may_stop: bool = True) -> Iterator[Handle]:
    if may_stop:
        yield Handle(desired.kind, desired.name, "active", _unit(unit, active="failed"))
    yield Handle(desired.kind, desired.name, "enabled", _unit(unit, enabled="disabled"))


def _service(desired: Desired) -> Iterator[Handle]:
    if (desired.state or {})["enabled"] == "enabled":
        yield from _unit_handles(desired, desired.name)


def _repository(desired: Desired) -> Iterator[Handle]:
    if "ca_fingerprint" in (desired.state or {}):
        yield Handle("repository", desired.name, "ca_fingerprint", _file(urls.CA))
    for path, key in REPOSITORY.items():
        if key not in (desired.state or {}):
            continue
        yield Handle("repository", desired.name, key, _file(path))
    stray = "/etc/apt/sources.list.d/debian.sources"
    yield Handle("repository", desired.name, "other_sources", lambda facts: with_file(facts, stray))


def _packages(desired: Desired) -> Iterator[Handle]:
    if "version" in (desired.state or {}):
        yield Handle("package", desired.name, "version", _package(desired.name, version="0.1-1"))
        yield Handle("package", desired.name, "is_held", _package(desired.name, is_held=False))


def _tuning(desired: Desired) -> Iterator[Handle]:
    for key in desired.state or {}:
        change = _file(TUNING[desired.name]) if key == "file_sha256" else _sysctl(key)
        if key != "overridden_at_boot":  # tests/engine/plan/test_settings_at_boot.py
            yield Handle("tuning", desired.name, key, change)


def _sysctl(key: str) -> Change:
    return lambda facts: replace(facts, sysctls={**facts.sysctls, key: "-7"})


def _clock(desired: Desired) -> Iterator[Handle]:
    yield Handle("clock", "chrony", "file_sha256", _file(CHRONY))
    yield from _unit_handles(desired, "chrony")


def _perimeter(desired: Desired) -> Iterator[Handle]:
    table, docker = "other_tables", ("table ip docker {", "}")
    yield Handle(
        "perimeter", "firewall", table, lambda facts: replace(facts, ruleset=(*(facts.ruleset or ()), *docker))
    )
    for place in range(2, len((desired.state or {})["rules"]) - 1, 3):
        yield Handle("perimeter", "firewall", "rules", _without_line(place))
    yield Handle("perimeter", "firewall", "file_sha256", _file(WALL))
    yield from _unit_handles(desired, "nftables", may_stop=False)


def _without_line(place: int) -> Change:
    def change(facts: NodeFacts) -> NodeFacts:
        lines = [line for line in facts.ruleset or () if line.strip()]
        return replace(facts, ruleset=tuple(line for number, line in enumerate(lines) if number != place))

    return change


def _credential(desired: Desired) -> Iterator[Handle]:
    path = desired.variables["path"]
    yield Handle("credential", desired.name, "fingerprint", _file(path))
    yield Handle("credential", desired.name, "mode", _file(path, mode="0644"))
    yield Handle("credential", desired.name, "uid", _file(path, uid=1000))


def _environment(desired: Desired) -> Iterator[Handle]:
    link, root = desired.variables["link"], f"/opt/sovctl/{desired.name}-{desired.variables['built_from'][:12]}"

    def with_both(change: Callable[[str], Change]) -> Change:
        return lambda facts: change(root)(change(link)(facts))

    def stamp(path: str) -> Change:
        return lambda facts: replace(facts, texts={**facts.texts, f"{path}/.built-from": "other"})

    def changed(path: str) -> Change:
        return lambda facts: with_tree(facts, environment.TREES, path, changed=["lib/a.pth: not in the manifest"])

    def other_manifest(path: str) -> Change:
        return lambda facts: with_tree(facts, environment.TREES, path, manifest_sha256=None)

    yield Handle("environment", desired.name, "lock_sha256", with_both(lambda path: _file(f"{path}/lock.txt")))
    yield Handle("environment", desired.name, "built_from", with_both(stamp))
    yield Handle("environment", desired.name, "changed_files", with_both(changed))
    yield Handle("environment", desired.name, "tree_sha256", with_both(other_manifest))
    yield Handle("environment", desired.name, "is_linked", _link(desired.name, "/tmp/elsewhere"))


def _link(name: str, target: str) -> Change:
    def change(facts: NodeFacts) -> NodeFacts:
        lines = facts.answers[environment.FOLDERS]["stdout"].splitlines()
        changed = [f"{name}\t{target}" if line.startswith(f"{name}\t") else line for line in lines]
        return with_answer(facts, environment.FOLDERS, "\n".join(changed) + "\n")

    return change


def _model(desired: Desired) -> Iterator[Handle]:
    folder = desired.variables["folder"]

    def tree(**fields: Any) -> Change:
        return lambda facts: with_tree(facts, model.TREES, folder, **fields)

    yield Handle("model", desired.name, "manifest_sha256", _file(f"{folder}/MANIFEST"))
    yield Handle("model", desired.name, "changed_files", tree(changed=["1.safetensors: time or inode"]))
    yield Handle("model", desired.name, "tree_sha256", tree(manifest_sha256=OTHER_SHA256))


def _pool(desired: Desired) -> Iterator[Handle]:
    unit, config = f"sovctl-pool-{desired.name}", f"/etc/sovctl/pools/{desired.name}.yaml"
    for flag in desired.variables["flags"]:
        yield Handle("pool", desired.name, flag, _flag(config, flag))
    yield Handle("pool", desired.name, "unit_sha256", _file(f"{UNITS}/{unit}.service"))
    yield Handle("pool", desired.name, "probe_sha256", _file(f"{UNITS}/sovctl-probe-{desired.name}.timer"))
    yield Handle("pool", desired.name, "runs_what_is_written", _unit(unit, started_s=WRITTEN_S - 1))
    yield Handle("pool", desired.name, "launcher_sha256", _file(LAUNCHER))
    if "middleware" in desired.variables["flags"]:
        yield Handle("pool", desired.name, "routes_sha256", _file(ROUTES))
    for key, other in {
        "running_flags": {"argv": [*server_process(desired)["argv"], "--max-num-seqs", "4"]},
        "running_environment": {"environment": desired.variables["environment"] | {"VLLM_SERVER_DEV_MODE": "1"}},
        "running_engine": {"folders": ["/opt/sovctl/vllm-0123456789ab"]},
    }.items():
        yield Handle("pool", desired.name, key, _process(desired, other))
    if desired.variables["serves_api"]:
        timer = f"sovctl-probe-{desired.name}.timer"
        yield Handle("pool", desired.name, "probe", _unit(timer, active="inactive"))
        yield Handle("pool", desired.name, "probe_at_boot", _unit(timer, enabled="disabled"))
    if desired.variables["proxy"]:
        proxy = proxy_unit(desired.name)
        yield Handle("pool", desired.name, "proxy_sha256", _file(f"/etc/sovctl/pools/{desired.name}.nginx.conf"))
        yield Handle("pool", desired.name, "proxy", _unit(proxy, active="failed"))
        yield Handle("pool", desired.name, "proxy_at_boot", _unit(proxy, enabled="disabled"))
        yield Handle("pool", desired.name, "proxy_runs_what_is_written", _unit(proxy, started_s=WRITTEN_S - 1))
    yield from _unit_handles(desired, unit)


def _process(desired: Desired, other: dict[str, Any]) -> Change:
    unit = f"sovctl-pool-{desired.name}.service"
    return lambda facts: with_process(facts, unit, server_process(desired) | other)


def _flag(config: str, flag: str) -> Change:
    def change(facts: NodeFacts) -> NodeFacts:
        lines = (facts.texts[config] or "").splitlines()
        changed = [f"{flag}: changed-by-hand" if line.startswith(f"{flag}:") else line for line in lines]
        return replace(facts, texts={**facts.texts, config: "\n".join(changed) + "\n"})

    return change


def _gateway(desired: Desired) -> Iterator[Handle]:
    yield Handle("gateway", desired.name, "config_sha256", _file(SETTINGS))
    yield Handle("gateway", desired.name, "unit_sha256", _file(GATEWAY_UNIT))
    yield Handle("gateway", desired.name, "runs_what_is_written", _unit("sovctl-gateway", started_s=WRITTEN_S - 1))
    yield from _unit_handles(desired, "sovctl-gateway")


def _site_mirror(desired: Desired) -> Iterator[Handle]:
    yield Handle("site_mirror", desired.name, "config_sha256", _file(server.CONFIG))
    yield Handle("site_mirror", desired.name, "unit_sha256", _file(server.UNIT_FILE))
    yield Handle("site_mirror", desired.name, "runs_what_is_written", _unit(server.UNIT, started_s=WRITTEN_S - 1))
    yield from _unit_handles(desired, server.UNIT)


_HANDLES: dict[str, Callable[[Desired], Iterator[Handle]]] = {
    "repository": _repository,
    "package": _packages,
    "service": _service,
    "tuning": _tuning,
    "reboot": lambda _desired: iter(()),  # tests/engine/plan/test_reboots.py
    "clock": _clock,
    "perimeter": _perimeter,
    "credential": _credential,
    "environment": _environment,
    "model": _model,
    "pool": _pool,
    "gateway": _gateway,
    "mirror_snapshot": lambda desired: iter(
        [Handle("mirror_snapshot", desired.name, "snapshot_manifest_sha256", _file(snapshot.MANIFEST))]
    ),
    "site_mirror": _site_mirror,
    **planned_host.HANDLES,
    **planned_files.HANDLES,
}
