"""Computes the changes of a plan from a site description and the facts of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.package_files import package_folder

from ..catalog.board_services import load_board_services
from ..catalog.drivers import driver_lock
from ..catalog.engines import ENGINES
from ..catalog.operating_systems import component_named
from ..facts.host.fips import KERNEL_FILE as FIPS_KERNEL_FILE
from ..facts.host.fips import PROVIDERS
from ..facts.node import SIMULATION_MARK, NodeFacts
from ..facts.operating_system import DGX_RELEASE, OS_RELEASE, SECURE_BOOT_VARIABLE
from ..facts.packages.dpkg import PACKAGES, RPM_PACKAGES
from ..gather.gather import Request
from ..mirror.snapshots import selected
from ..placement import assign_gpus
from ..resources import pool, swap_group
from ..resources.context import Context
from ..resources.credential import CERTIFICATES
from ..resources.gateway import service as gateway
from ..resources.host import imex
from ..resources.mirror import server
from ..resources.removal import node_removal
from ..resources.resource import Change, Desired, State, Verb, difference
from ..resources.resource_type import Query, ResourceType
from ..resources.services.unit import full_name
from ..resources.software.engine_lock import engine_lock
from ..resources.software.environment import ENGINE_NAMES, GATEWAY
from ..spec import Node, SiteSpec
from ..validation.load import catalog_of
from . import code_wheel, reboots, unmanaged
from .access_key import public_key_of
from .observed_risk import with_observed_risk
from .order import RESOURCE_TYPES
from .reboots import restart_cause, with_reboot
from .scope import EVERYTHING, Scope
from .support import check_supported

LOCKS = package_folder("engine/catalog/locks")

# Read-only commands of the probe; their parsers are in `facts/`.
COMMANDS = {
    "kernel": ["uname", "-r"],
    "architecture": ["uname", "-m"],
    "virtualization": ["systemd-detect-virt"],
    "secure-boot": ["mokutil", "--sb-state"],
    "packages": list(PACKAGES),
    "holds": ["apt-mark", "showhold"],
    "rpm-packages": list(RPM_PACKAGES),
    "versionlock": ["dnf", "-q", "versionlock", "list"],
    "ruleset": ["nft", "-s", "list", "ruleset"],
}
UNIT_PROPERTIES = (
    "Id,LoadState,ActiveState,UnitFileState,ActiveEnterTimestamp,MainPID,FragmentPath,DropInPaths,NeedDaemonReload"
)
READ = (OS_RELEASE, DGX_RELEASE, SECURE_BOOT_VARIABLE, "/proc/sys/kernel/random/boot_id", SIMULATION_MARK)


def context_of(spec: SiteSpec, site_folder: Path) -> Context:
    """Return the input of the resource types, without the fingerprints of credentials.

    Raises:
        SpecError, InputError: pools cannot be placed, or a file of site.yaml is absent.
    """
    catalog = catalog_of(spec, site_folder)
    key_file, access_key_file = site_folder / spec.artifacts.apt_key_file, site_folder / spec.access.key_file
    return Context(
        spec=spec,
        platforms=catalog.platforms,
        divided={group.name: catalog.devices(group) or () for group in spec.node_groups if group.is_divided},
        models=catalog.models,
        lock=driver_lock(spec.software.lock),
        replicas=tuple(assign_gpus(spec, catalog)),
        locks={
            ENGINES[spec.software.engine].environment: LOCKS / f"{engine_lock(spec, catalog.models)}.txt",
            GATEWAY: LOCKS / "gateway.txt",
            "installer": LOCKS / "installer.txt",
        },
        apt_key_sha256=sha256_hex(key_file.read_bytes()) if key_file.is_file() else "(read by apply)",
        code_sha256=code_wheel.digest(),
        catalog_files=tuple(site_folder / name for name in (spec.catalog_file, spec.calibration_file) if name),
        snapshot=selected(site_folder / spec.mirror.store) if spec.mirror else None,
        access_key=public_key_of(access_key_file.read_bytes()) if access_key_file.is_file() else "",
    )


def requests(context: Context) -> dict[str, Request]:
    """Return the request to the probe of every node, by node name; also of removed ones."""
    return {name: _request(context, node) for name, node in context.nodes.items()}


def types_of(context: Context, node: Node) -> tuple[ResourceType, ...]:
    """Return the resource types of a node."""
    return (node_removal.RESOURCE_TYPE,) if node.name in context.removed_names else RESOURCE_TYPES


def queries_on(context: Context, node: Node) -> list[Query]:
    """Return the facts that the resource types need from a node, in the order of application."""
    return [kind.query(context, node) for kind in types_of(context, node)]


def _request(context: Context, node: Node) -> Request:
    queries = queries_on(context, node)
    units = sorted({unit for query in queries for unit in query.units})
    survey = {} if node.name in context.removed_names else unmanaged.commands(context, node, queries)
    sysctls = sorted({key for query in queries for key in query.sysctls})
    needs_fips = context.spec.host.fips == "required"
    fips = (FIPS_KERNEL_FILE,) if needs_fips else ()
    # Without a key sysctl prints its usage and fails.
    settings = {"sysctl": ["sysctl", "-e", *sysctls]} if sysctls else {}
    return Request(
        commands=COMMANDS
        | {name: list(argv) for query in queries for name, argv in query.commands.items()}
        | survey
        | settings
        | ({"fips-providers": list(PROVIDERS)} if needs_fips else {})
        | {
            "units": [
                "systemctl",
                "show",
                "--timestamp=unix",
                f"--property={UNIT_PROPERTIES}",
                *map(full_name, units),
            ],
        },
        hash=tuple(dict.fromkeys(pattern for query in queries for pattern in query.hash)),
        read=tuple(dict.fromkeys([*READ, *fips, *(path for query in queries for path in query.read)])),
        timeout_s=context.spec.access.command_timeout_s,
    )


def desired_on(context: Context, node: Node, facts: NodeFacts | None) -> list[Desired]:
    """Return the expected resources of a node, in the order in which they are applied."""
    return [desired for kind in types_of(context, node) for desired in kind.expect(context, node, facts)]


def unmanaged_things(
    context: Context, facts: Mapping[str, NodeFacts], found: Collection[Change]
) -> list[unmanaged.Unmanaged]:
    """Return the unmanaged things of all nodes, in the order of site.yaml.

    Args:
        found: changes of the plan; a thing that one of them removes is omitted.
    """
    of_node: dict[str, list[Change]] = {}
    for change in found:
        of_node.setdefault(change.node, []).append(change)
    return [
        each
        for _, node in context.spec.nodes()
        if node.name in facts
        for each in sorted(unmanaged.unmanaged_on(context, facts[node.name], of_node.get(node.name, ())))
    ]


TLS_FILES = frozenset(credential.file for credential in CERTIFICATES)

# Whether a change of a resource type requires a restart of another resource, which has read or loaded the old state.
RESTARTS: dict[str, Callable[[Change, Desired], bool]] = {
    "package": lambda change, each: "version" in (change.after or {}) and _is_restarted_by(each, change.name),
    "credential": lambda change, each: (
        each.kind == "gateway"
        or (
            each.kind in ("pool", server.KIND, swap_group.KIND)
            and change.name in TLS_FILES
            and not each.variables.get("swap")
        )
    ),
    "environment": lambda change, each: (
        (each.kind == "pool" and change.name in ENGINE_NAMES) or (change.name, each.kind) == (GATEWAY, "gateway")
    ),
    "model": lambda change, each: each.kind == "pool" and change.name in each.variables["weights"],
    "imex": lambda _change, each: (each.kind, each.name) == ("service", imex.UNIT),
    "unit": lambda change, each: change.name == _UNIT_OF[each.kind](each),
}
# Name of the unit of a resource, by resource type. Only resources with a unit restart.
_UNIT_OF: dict[str, Callable[[Desired], str]] = {
    "clock": lambda _each: "chrony.service",
    "service": lambda each: f"{each.name}.service",
    "pool": lambda each: f"{each.variables['unit']}.service",
    "gateway": lambda _each: f"{gateway.UNIT}.service",
    server.KIND: lambda _each: f"{server.UNIT}.service",
    swap_group.KIND: lambda each: f"{each.variables['agent']}.service",
}


RESTARTED = {"runs_what_is_written": "after a restart"}


def _is_restarted_by(each: Desired, package: str) -> bool:
    """Return whether a new version of a package requires a restart of a pool or of a service of the board."""
    component = component_named(package)
    if component is None or component.restarts is None:
        return False
    if each.kind == "pool":
        return component.restarts in ("node", "pools")
    if each.kind != "service":
        return False
    own = next((service for service in load_board_services() if service.unit == each.name), None)
    return own is not None and (own.component == component.id or (component.restarts == "node" and not own.kernel))


Comparison = tuple[Desired, State | None]
"""An expected resource and its observed state; None if it is absent."""


def compare_all(context: Context, facts: Mapping[str, NodeFacts]) -> dict[str, list[Comparison]]:
    """Return the expected resources of nodes with their observed states, by node, in the order of application.

    Raises:
        UnsupportedSystem: one or more nodes have an unsupported operating system.
    """
    check_supported(context, facts)
    kinds = {kind.name: kind for kind in (*RESOURCE_TYPES, node_removal.RESOURCE_TYPE)}
    return {
        name: [
            (desired, kinds[desired.kind].observed(each, desired))
            for desired in desired_on(context, context.nodes[name], each)
        ]
        for name, each in facts.items()
    }


def changes(
    context: Context,
    facts: Mapping[str, NodeFacts],
    compared: Mapping[str, list[Comparison]] | None = None,
    *,
    scope: Scope = EVERYTHING,
) -> list[Change]:
    """Return all differences, by node in the order of site.yaml, then in the order of `RESOURCE_TYPES`.

    A restart or reboot that another change requires is a change too, so that the plan contains everything that apply
    does.

    Args:
        facts: of all nodes to plan. Nodes of one replica are all there, or none of them.
        compared: result of `compare_all`, if the caller has it.
        scope: nodes and resources to plan.

    Raises:
        UnsupportedSystem: one or more nodes have an unsupported operating system.
    """
    compared = compared or compare_all(context, facts)
    found: list[Change] = []
    for name in context.nodes:
        if name not in facts or not scope.has_node(name):
            continue
        pairs = compared[name]
        if name in context.removed_names:
            found += _removal(name, pairs) if scope == EVERYTHING else []
            continue
        differences = [
            change for desired, state in pairs if scope.has(desired) and (change := difference(name, desired, state))
        ]
        differences = with_reboot(context, facts[name], [desired for desired, _ in pairs], differences)
        changed = {(change.kind, change.name) for change in differences}
        on_node = [*differences]
        for desired, state in pairs:
            if desired.kind not in _UNIT_OF or desired.state is None or state is None:
                continue
            if (desired.kind, desired.name) in changed:
                continue
            if why := restart_cause(desired.kind, differences) or _cause(differences, desired):
                on_node.append(restart(name, desired, why=why))
        found += on_node
    found += ranks_elsewhere(context, facts, found)
    found = list(with_observed_risk(context, found, facts))
    nodes = {name: place for place, name in enumerate(context.nodes)}
    order = {kind.name: place for place, kind in enumerate((*RESOURCE_TYPES, node_removal.RESOURCE_TYPE))}
    return sorted(found, key=lambda change: (nodes[change.node], order[change.kind]))


def _removal(name: str, pairs: list[Comparison]) -> list[Change]:
    """Return the changes that remove sovctl from a node. Its resources restart nothing."""
    return [change for desired, state in pairs if (change := difference(name, desired, state))]


def _cause(changes_on_node: list[Change], desired: Desired) -> str:
    """Return the reason for a restart of an unchanged resource: a change on the same node; empty without one."""
    if desired.kind == "service" and any(change.kind == reboots.KIND for change in changes_on_node):
        return ""  # it starts with the node, or with the reloaded driver
    causes = (
        change
        for change in changes_on_node
        if change.verb is not Verb.DELETE and change.kind in RESTARTS and RESTARTS[change.kind](change, desired)
    )
    return next((f"{change.kind} {change.name} changes" for change in causes), "")


def ranks_elsewhere(context: Context, facts: Mapping[str, NodeFacts], found: list[Change]) -> Iterator[Change]:
    """Yield restarts of unchanged ranks whose replica changes on another node, because ranks start together."""
    changed = {(change.node, change.name) for change in found if change.kind == pool.RESOURCE_TYPE.name}
    for replica in context.replicas:
        name = pool.instance(replica)
        starting = [rank.node for rank in replica.ranks if (rank.node, name) in changed]
        for rank in replica.ranks:
            if starting and rank.node not in starting:
                wanted = pool.RESOURCE_TYPE.expect(context, context.spec.node(rank.node), facts[rank.node])
                desired = next(each for each in wanted if each.name == name)
                yield restart(rank.node, desired, why=f"the rank of its replica on {starting[0]} restarts")


def restart(node: str, desired: Desired, *, why: str) -> Change:
    """Return the restart of an unchanged resource."""
    return Change(
        node=node,
        kind=desired.kind,
        name=desired.name,
        verb=Verb.UPDATE,
        before={"runs_what_is_written": True},
        after=RESTARTED,
        why=why,
        risk=desired.risk,
        minutes=desired.minutes,
    )
