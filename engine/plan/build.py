"""From a site and what was observed to the changes that would make it so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sovctl.compliance.canonical import sha256_hex
from sovctl.engine import code_wheel
from sovctl.engine.catalog.drivers import driver_lock
from sovctl.engine.catalog.platforms import load_platforms
from sovctl.engine.facts.node import SIMULATION_MARK, NodeFacts
from sovctl.engine.gather import Request
from sovctl.engine.placement import place
from sovctl.engine.plan.context import Context
from sovctl.engine.plan.kinds.environment import ENGINE, GATEWAY
from sovctl.engine.plan.kinds.kind import Look
from sovctl.engine.plan.order import KINDS
from sovctl.engine.plan.resource import Change, Desired, Verb, difference
from sovctl.engine.spec import Node, SiteSpec

LOCKS = Path(__file__).parent.parent / "catalog" / "locks"

# Read-only commands every node is asked to run; parsers are in `facts/`.
COMMANDS = {
    "kernel": ["uname", "-r"],
    "virtualization": ["systemd-detect-virt"],
    "packages": ["dpkg-query", "-W", "-f", "${Package}\t${Version}\t${Architecture}\t${db:Status-Abbrev}\n"],
    "holds": ["apt-mark", "showhold"],
    "ruleset": ["nft", "-s", "list", "ruleset"],
}
UNIT_PROPERTIES = "Id,LoadState,ActiveState,UnitFileState,ActiveEnterTimestamp,MainPID"
READ = ("/etc/os-release", "/proc/sys/kernel/random/boot_id", SIMULATION_MARK)


def context_of(spec: SiteSpec, site_folder: Path) -> Context:
    """Everything the kinds look at, except what exists only on the controller's disk (fingerprints).

    Raises:
        SpecError, InputError: pools cannot be placed, or a file that the spec names is absent.
    """
    engine_lock = f"{spec.software.engine}-{spec.software.engine_version}.txt"
    key_file = site_folder / spec.artifacts.apt_key_file
    return Context(
        spec=spec,
        platforms=load_platforms(),
        lock=driver_lock(spec.software.lock),
        replicas=tuple(place(spec)),
        locks={
            ENGINE: LOCKS / engine_lock,
            GATEWAY: LOCKS / "gateway.txt",
            "installer": LOCKS / "installer.txt",
        },
        apt_key_sha256=sha256_hex(key_file.read_bytes()) if key_file.is_file() else "(read by apply)",
        code_sha256=code_wheel.digest(),
    )


def requests(context: Context) -> dict[str, Request]:
    """What to look at on every node."""
    return {node.name: _request(context, node) for _, node in context.spec.nodes()}


def _request(context: Context, node: Node) -> Request:
    looks: list[Look] = [kind.look(context, node) for kind in KINDS]
    units = sorted({unit for look in looks for unit in look.units})
    sysctls = sorted({key for look in looks for key in look.sysctls})
    return Request(
        commands=COMMANDS
        | {
            "sysctl": ["sysctl", "-e", *sysctls],
            "units": [
                "systemctl",
                "show",
                "--timestamp=unix",
                f"--property={UNIT_PROPERTIES}",
                *(f"{unit}.service" for unit in units),
            ],
        },
        hash=tuple(dict.fromkeys(pattern for look in looks for pattern in look.hash)),
        read=tuple(dict.fromkeys([*READ, *(path for look in looks for path in look.read)])),
    )


def desired_on(context: Context, node: Node, facts: NodeFacts | None) -> list[Desired]:
    """Everything a node should have, in the order in which it is brought about."""
    return [desired for kind in KINDS for desired in kind.expect(context, node, facts)]


# A change of the first makes the second start again: what a service has read or loaded, it does not look at twice.
RESTARTS = {
    "package": ("service", "pool"),
    "credential": ("pool", "gateway"),
    "environment": ("pool", "gateway"),
    "model": ("pool",),
}
RESTARTED = {"runs_what_is_written": "after a restart"}


def changes(context: Context, facts: Mapping[str, NodeFacts]) -> list[Change]:
    """Every difference, by node in the order of the file, then in the order of `KINDS`.

    What must start again because something under it changes is a change too: a plan names all that will happen.
    """
    kinds = {kind.name: kind for kind in KINDS}
    found = []
    for _, node in context.spec.nodes():
        observed = facts[node.name]
        on_node: list[Change] = []
        for desired in desired_on(context, node, observed):
            change = difference(node.name, desired, kinds[desired.kind].observe(observed, desired))
            if change is None and (cause := _cause(on_node, desired)):
                change = _restart(node.name, desired, cause)
            if change is not None:
                on_node.append(change)
        found += on_node
    return found


def _cause(earlier: list[Change], desired: Desired) -> Change | None:
    """The change on the same node that makes an unchanged thing start again."""
    for change in earlier:
        if desired.kind not in RESTARTS.get(change.kind, ()):
            continue
        if change.kind == "package" and "version" not in change.after:
            continue
        if change.kind == "environment" and (desired.kind == "gateway") != (change.name == "gateway"):
            continue
        return change
    return None


def _restart(node: str, desired: Desired, cause: Change) -> Change:
    return Change(
        node=node,
        kind=desired.kind,
        name=desired.name,
        verb=Verb.UPDATE,
        before={"runs_what_is_written": True},
        after=RESTARTED,
        why=f"{cause.kind} {cause.name} changes under it",
        risk=desired.risk,
        minutes=desired.minutes,
    )
