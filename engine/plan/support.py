"""Decides which nodes sovctl can change: operating system, versions of DGX OS, Secure Boot.

- `check_supported` raises for nodes whose operating system has no row in `catalog/operating_systems.yaml`, and names
  all of them.
- `refusals` returns the reasons why a planned node cannot be applied. The plan shows them, and apply stops before any
  change. A value that was not measured is a reason too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sovctl.support.errors import InputError

from ..catalog.operating_systems import Apply, Package, SupportedSystem, load_operating_systems, supported
from ..facts.host.fips import KERNEL_FILE, parse_fips_kernel, parse_fips_providers
from ..facts.node import NodeFacts
from ..facts.operating_system import SecureBoot, Virtualization
from ..facts.unreadable import Unreadable
from ..resources.context import Context
from ..resources.host import hardware, imex, kernel, storage
from ..resources.resource import difference
from ..resources.resource_type import ResourceType
from ..resources.retrieval import database
from ..resources.serving.group import RDMA_ADAPTERS, needs_rdma
from ..resources.software.package import mok_command, packages_on
from ..spec import Node

COMPARED: tuple[ResourceType, ...] = (kernel.RESOURCE_TYPE, hardware.RESOURCE_TYPE, storage.RESOURCE_TYPE)
"""Resource types with resources that sovctl only compares: file systems, and settings of DGX OS."""
_REPAIRS = {
    "kernel": "repair or update NVIDIA's packages of DGX OS",
    "hardware": "repair or update NVIDIA's packages of DGX OS",
    "storage": "repair the file system, or change host.mounts; sovctl never formats a disk",
}


class UnsupportedSystem(InputError):
    """One or more nodes have an operating system that sovctl does not support. No node was changed."""


class ApplyRefused(InputError):
    """The plan has refusals. No node was changed."""


@dataclass(frozen=True)
class Refusal:
    """A reason why apply must not change a node."""

    node: str
    message: str
    hint: str

    def to_json(self) -> dict[str, str]:
        """Return plain values for the plan file."""
        return {"node": self.node, "message": self.message, "hint": self.hint}


def check_supported(context: Context, facts: Mapping[str, NodeFacts]) -> None:
    """Check that every node has a supported operating system.

    Raises:
        UnsupportedSystem: contains all nodes that do not.
    """
    found = []
    for name, of_node in facts.items():
        if name in context.removed_names:
            continue  # sovctl only removes its own things there
        node = context.spec.node(name)
        row, has_gpus = supported(of_node.system), context.platform(node).has_gpus
        if row is None:
            found.append(f"{node.name}: {of_node.system}")
        elif has_gpus and not row.gpu and not of_node.simulated:
            found.append(f"{node.name}: {of_node.system} on a node of platform {context.group(node).platform}")
    if found:
        rows = load_operating_systems().values()
        titles = [each.title + ("" if each.gpu else " (nodes without GPUs)") for each in rows]
        raise UnsupportedSystem(
            f"unsupported operating system on {len(found)} of {len(facts)} nodes: {'; '.join(found)}",
            hint=f"install one of: {', '.join(titles)}",
        )


def refusals(context: Context, facts: Mapping[str, NodeFacts]) -> list[Refusal]:
    """Return the reasons against an apply, in the order of `facts`; empty if all these nodes can be changed."""
    return [
        each
        for name, of_node in facts.items()
        if name not in context.removed_names
        for each in _of_node(context, context.spec.node(name), of_node)
    ]


def check_no_refusals(found: list[Refusal]) -> None:
    """Check that an apply may start.

    Raises:
        ApplyRefused: contains all refusals.
    """
    if found:
        lines = "; ".join(f"{each.node}: {each.message}" for each in found)
        hints = list(dict.fromkeys(each.hint for each in found))
        raise ApplyRefused(f"apply refused: {lines}", hint=f"no node was changed; {'; '.join(hints)}")


def _compared(context: Context, node: Node, facts: NodeFacts) -> Iterator[Refusal]:
    """Yield a refusal for each resource that differs and that sovctl only compares."""
    for kind in COMPARED:
        for desired in kind.expect(context, node, facts):
            if not desired.variables["is_asserted"]:
                continue
            change = difference(node.name, desired, kind.observed(facts, desired))
            if change is not None:
                keys = ", ".join(change.after or {}) if change.before is not None else "absent"
                details = "; ".join((change.before or {}).get("raid_faults") or ())
                found = f"{keys} ({details})" if details else keys
                yield Refusal(node.name, f"{desired.kind} {desired.name} differs: {found}", _REPAIRS[desired.kind])


def _required_secure_boot(context: Context, node: Node, facts: NodeFacts) -> Iterator[Refusal]:
    """Yield a refusal if site.yaml requires Secure Boot and it is off or unknown. A container has no firmware."""
    state = facts.system.secure_boot
    if context.spec.host.secure_boot == "required" and not facts.is_container and state is not SecureBoot.ENABLED:
        yield Refusal(
            node.name,
            f"Secure Boot is {state}, and site.yaml requires it (host.secure_boot)",
            "enable it in the firmware; if it is unknown, install mokutil on the node",
        )


def _required_fips(context: Context, node: Node, facts: NodeFacts) -> Iterator[Refusal]:
    """Yield a refusal if site.yaml requires FIPS mode, and kernel or OpenSSL are not in it or were not measured."""
    if context.spec.host.fips != "required":
        return
    texts = {
        "kernel": (parse_fips_kernel, facts.texts.get(KERNEL_FILE)),
        "OpenSSL": (parse_fips_providers, facts.answers.get("fips-providers", {}).get("stdout")),
    }
    for name, (parse, text) in texts.items():
        try:
            state = "on" if parse(str(text or "")) else "off"
        except Unreadable:
            state = "not measured"
        if state != "on":
            yield Refusal(
                node.name,
                f"FIPS mode of {name} is {state}, and site.yaml requires it (host.fips)",
                "enable it by the tool of the operating system, and reboot",
            )


def _of_node(context: Context, node: Node, facts: NodeFacts) -> Iterator[Refusal]:
    yield from _compared(context, node, facts)
    yield from _domain(context, node)
    yield from _stage_network(context, node, facts)
    yield from _required_secure_boot(context, node, facts)
    yield from _required_fips(context, node, facts)
    row, packages = packages_on(context, node, facts)
    if row is None:
        return
    if context.is_retrieval(node) and database.version(facts) is None:
        hint = "put it on a node with another operating system (retrieval.node)"
        yield Refusal(node.name, f"retrieval is not implemented for {row.title}", hint)
    if row.apply is Apply.PLAN_ONLY:
        yield Refusal(
            node.name,
            f"apply is not implemented for {row.title}",
            f"use `sovctl plan` only, or install {_applicable()}",
        )
    if row.apply is Apply.ASSERTED:
        yield from _differences(context, node, facts, row, packages)
    elif context.platform(node).has_gpus and not facts.simulated:
        yield from _secure_boot(node, facts, row)


def _domain(context: Context, node: Node) -> Iterator[Refusal]:
    """Yield a refusal if the NVLink domain of a node is unknown."""
    group, largest = context.group(node), imex.largest_domain(context, node)
    if largest is not None and len(group.nodes) > largest:
        yield Refusal(
            node.name,
            f"node group {group.name} has {len(group.nodes)} nodes, and an NVLink domain has at most {largest}",
            "write a node group for each NVLink domain, which is one rack",
        )


def _stage_network(context: Context, node: Node, facts: NodeFacts) -> Iterator[Refusal]:
    """Yield a refusal if a stage is on several nodes and this one has no RDMA adapter."""
    pools = sorted({each.pool for each in context.serving_on(node) if needs_rdma(context, each)})
    if pools and not facts.answer(RDMA_ADAPTERS, may_fail=True).split():
        yield Refusal(
            node.name,
            f"pool {', '.join(pools)} has stages on several nodes, and this node has no RDMA adapter",
            "install the adapters and their driver, or use pipeline_parallel_size instead of nodes_per_stage",
        )


def _applicable() -> str:
    rows = load_operating_systems().values()
    return ", ".join(each.title for each in rows if each.apply is not Apply.PLAN_ONLY and each.gpu)


def _differences(
    context: Context, node: Node, facts: NodeFacts, row: SupportedSystem, packages: tuple[Package, ...]
) -> Iterator[Refusal]:
    """Yield a refusal for each package of NVIDIA that DGX OS has in another version than the lock."""
    hint = (
        f"update {row.title} with NVIDIA's procedure, or choose another `software.lock`; sovctl does not replace "
        "NVIDIA's packages"
    )
    for package in packages:
        if not package.component.is_of_vendor:
            continue
        found = facts.packages.get(package.name)
        got = found.version if found else "not installed"
        if found is None or (package.version is not None and not row.accepts(package.version, found.version)):
            expected = f"{package.name} {package.version or ''}".rstrip()
            yield Refusal(node.name, f"{row.title} with lock {context.lock.id} needs {expected}, got {got}", hint)


def _secure_boot(node: Node, facts: NodeFacts, row: SupportedSystem) -> Iterator[Refusal]:
    """Yield a refusal if the firmware would reject the driver's module, or if that is unknown."""
    virtualization, state = facts.system.virtualization, facts.system.secure_boot
    if virtualization is Virtualization.UNKNOWN:
        yield Refusal(node.name, "unknown whether the node is a container", "check systemd-detect-virt on the node")
    elif virtualization is not Virtualization.CONTAINER and row.mok_key is not None:
        if state is SecureBoot.UNKNOWN:
            yield Refusal(
                node.name, "the state of Secure Boot is unknown", "install mokutil on the node, or enable UEFI"
            )
        elif state is SecureBoot.ENABLED and "is already enrolled" not in _mok_answer(facts, row.mok_key):
            yield Refusal(
                node.name,
                f"Secure Boot is enabled and the key {row.mok_key}, which signs modules of dkms, is not enrolled",
                f"enrol it at the console: mokutil --import {row.mok_key}, then reboot",
            )


def _mok_answer(facts: NodeFacts, key: str) -> str:
    name = mok_command(key)
    return facts.answer(name, may_fail=True) if facts.answers.get(name, {}).get("exit_code") is not None else ""
