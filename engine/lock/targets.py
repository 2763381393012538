"""Targets of a lock: operating system, architecture and package status of nodes, and the packages of their roles.

The roots come from the same resource type as the plan (`resources/software/package.py`), so that every planned package
is in the lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sovctl.support.errors import InputError

from ..catalog.operating_systems import Apply, SupportedSystem, load_operating_systems, supported
from ..facts.node import NodeFacts
from ..facts.operating_system import OperatingSystem, Virtualization
from ..resources.context import Context
from ..resources.software.package import needed
from ..spec import Node
from .inventory import NodeStatus, PackageBase, SiteInventory
from .leaving import pseudonym
from .refused import LockRefused

EMPTY = "empty"
ARCHITECTURES: Mapping[str, Mapping[str, str]] = {
    "apt": {"x86_64": "amd64", "aarch64": "arm64"},
    "dnf": {"x86_64": "x86_64", "aarch64": "aarch64"},
}
"""Names of package managers by the name of `uname -m`."""
_RUNTIMES: Mapping[str, tuple[str, str]] = {
    "debian-12": ("3.11", "2.36"),
    "ubuntu-22.04": ("3.10", "2.35"),
    "ubuntu-24.04": ("3.12", "2.39"),
    "rhel-9": ("3.11", "2.34"),
    "dgx-os-6": ("3.10", "2.35"),
    "dgx-os-7": ("3.12", "2.39"),
}
"""Python and glibc of the first release of an operating system, for locks without an inventory: packages.debian.org,
packages.ubuntu.com, RHEL 9 package manifest."""
_BUILD_TOOLS = ("gcc", "make")
"""dkms compiles modules on the node, without network."""
_KERNEL = "@kernel@"


@dataclass(frozen=True)
class NodeTarget:
    """One node as input of solvers.

    Args:
        machine: as `uname -m` prints it.
        base: None for a full set, without an inventory.
        roots: arguments of the package manager, sorted.
        python, glibc: `3.11`, `2.36`; of the catalogue's table without an inventory, None if not measured.
        driver_pin: driver version that the node's apt preferences require; empty without.
    """

    node: Node
    role: str
    system: SupportedSystem
    machine: str
    base: PackageBase | None
    roots: tuple[str, ...]
    python: str | None
    glibc: str | None
    has_gpus: bool
    driver_pin: str

    @property
    def architecture(self) -> str:
        """Name of the architecture in the package manager."""
        return ARCHITECTURES[self.system.package_manager][self.machine]

    @property
    def base_id(self) -> str:
        """Digest of the package status, or `empty`."""
        return self.base.sha256 if self.base else EMPTY

    @property
    def part_id(self) -> str:
        """Name of the part that this node shares with equal nodes."""
        return f"{self.system.id}-{self.architecture}-{self.base_id[:8]}"


def targets(
    context: Context, inventory: SiteInventory | None, *, system: str | None, machine: str
) -> tuple[NodeTarget, ...]:
    """Return the target of every node, in the order of site.yaml.

    Args:
        inventory: None for full sets; `system` and `machine` then describe all nodes.
        system: id of an operating system in the catalogue.

    Raises:
        InputError: there is neither inventory nor system, or the inventory lacks a node.
        LockRefused: a node has an unsupported system, or a value that the lock needs was not measured.
    """
    if inventory is None:
        status = _assumed(context, system, machine)
        return tuple(_target(context, node, status, None) for _, node in context.spec.nodes())
    by_name = {node.name: node for node in inventory.nodes}
    found = []
    for index, (_, node) in enumerate(context.spec.nodes()):
        name = pseudonym(index) if inventory.has_pseudonyms else node.name
        if name not in by_name:
            reason = inventory.not_measured.get(name, "it is not in the file")
            hint = "collect and export the inventory again; a lock needs all nodes of site.yaml"
            raise InputError(f"the inventory has no status of {name}: {reason}", where="--inventory", hint=hint)
        found.append(_target(context, node, by_name[name], inventory.bases[by_name[name].base]))
    return tuple(found)


def _assumed(context: Context, system: str | None, machine: str) -> NodeStatus:
    rows = load_operating_systems()
    if system is None or system not in rows:
        got = "nothing" if system is None else repr(system)
        raise InputError(
            f"expected one of {', '.join(rows)}, got {got}",
            where="--system",
            hint="pass --inventory with the status of the nodes, or --system for a full set",
        )
    match = rows[system].match
    values = {
        "id": match.id,
        "version": match.version,
        "title": rows[system].title,
        "kernel": "",
        "architecture": machine,
    }
    python, glibc = _RUNTIMES[system]
    return NodeStatus(
        name="",
        system=values | ({"dgx_release": match.dgx} if match.dgx else {}),
        virtualization=Virtualization.METAL.value,
        simulated=context.spec.access.network_namespace is not None,  # only a lab has it, with simulated GPUs
        kernels=None,
        glibc=glibc,
        python=python,
        repositories=(),
        devices=None,
        firmware=None,
        base=EMPTY,
    )


def _target(context: Context, node: Node, status: NodeStatus, base: PackageBase | None) -> NodeTarget:
    where = f"node {node.name}"
    facts = _facts(node, status)
    row = supported(facts.system)
    if row is None:
        raise LockRefused([f"{facts.system} is not supported"], where=where, hint="see docs/operating-systems.md")
    if status.system["architecture"] not in ARCHITECTURES[row.package_manager]:
        raise LockRefused(
            [f"architecture {status.system['architecture'] or '(unknown)'} is not supported"],
            where=where,
            hint="use --arch x86_64 or --arch aarch64" if base is None else "check the node",
        )
    is_managed = row.apply is Apply.MANAGED and row.package_manager == "apt"
    return NodeTarget(
        node=node,
        role=_role(context, node),
        system=row,
        machine=status.system["architecture"],
        base=base,
        roots=_roots(context, node, facts, status),
        python=_python(row, status),
        glibc=status.glibc,
        has_gpus=context.platform(node).has_gpus and not status.simulated,
        driver_pin=context.lock.driver_version if context.platform(node).has_gpus and is_managed else "",
    )


def _python(row: SupportedSystem, status: NodeStatus) -> str | None:
    """Return the Python of environments: that of the node, or the package that sovctl installs for them."""
    packaged = {each.name.removeprefix("python") for each in row.packages if each.component == "python"}
    version = min(packaged & {"3.11", "3.12", "3.13"}, default=None) or status.python
    return None if version is None else ".".join(version.split(".")[:2])


def _role(context: Context, node: Node) -> str:
    words = [context.group(node).name]
    words += ["pools"] if context.replicas_on(node) else []
    words += ["gateway"] if context.is_gateway(node) else []
    words += ["retrieval"] if context.is_retrieval(node) else []
    return "+".join(words)


def _facts(node: Node, status: NodeStatus) -> NodeFacts:
    system = OperatingSystem(
        id=status.system["id"],
        version=status.system["version"],
        title=status.system["title"],
        kernel=_KERNEL,
        architecture=status.system["architecture"],
        dgx_release=status.system.get("dgx_release"),
        virtualization=Virtualization(status.virtualization),
    )
    is_container = system.virtualization is Virtualization.CONTAINER
    return NodeFacts(
        node.name, "", status.simulated, is_container, {}, {}, {}, {}, None, {}, system=system
    )  # fmt: skip


def _roots(context: Context, node: Node, facts: NodeFacts, status: NodeStatus) -> tuple[str, ...]:
    """Return the roots of a node; packages of a kernel once for every installed kernel."""
    specs = {str(each.variables["spec"]) for each in needed(context, node, facts)}
    of_kernel = {spec for spec in specs if _KERNEL in spec}
    if not of_kernel:
        return tuple(sorted(specs))
    if not status.kernels:
        raise LockRefused(
            ["the installed kernels are unknown, and modules are compiled for each of them"],
            where=f"node {node.name}",
            hint="pass --inventory with the status of the nodes",
        )
    kernels = {*status.kernels, status.system["kernel"]}
    specs |= {spec.replace(_KERNEL, kernel) for spec in of_kernel for kernel in kernels}
    return tuple(sorted((specs - of_kernel) | set(_BUILD_TOOLS)))


def by_part(found: Iterable[NodeTarget]) -> dict[str, list[NodeTarget]]:
    """Return the targets by part, sorted."""
    groups: dict[str, list[NodeTarget]] = {}
    for each in found:
        groups.setdefault(each.part_id, []).append(each)
    return dict(sorted(groups.items()))


def roles(members: Iterable[NodeTarget]) -> dict[str, tuple[str, ...]]:
    """Return the roots of each role of a part, sorted by role."""
    found: dict[str, set[str]] = {}
    for each in members:
        found.setdefault(each.role, set()).update(each.roots)
    return {role: tuple(sorted(found[role])) for role in sorted(found)}
