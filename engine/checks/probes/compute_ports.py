"""Compute ports of a node: which InfiniBand ports connect GPUs of different nodes, and which do not.

In this order: an adapter that manages NVSwitches (its VPD model) and a bond are not compute adapters; an adapter at a
PCI address of `node_groups[].ports.storage` or `in_band` is not one; if compute addresses are known, from site.yaml or
the catalogue, exactly those are compute adapters; otherwise every remaining InfiniBand port is one, and with `roce` in
site.yaml every remaining port.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...facts.hardware.infiniband import Adapter, Port, parse_adapters
from ...facts.numbers import integer
from ...facts.unreadable import Unreadable
from ...spec import Node
from ..model.check_context import CheckContext
from ..model.counter_check import CounterExpectation
from ..model.figures import integer_of, number_of, text_of
from ..model.probe_sections import ProbeSections


@dataclass(frozen=True, kw_only=True)
class Expected(CounterExpectation):
    """Compute ports of a node.

    Args:
        ports: 0 if the platform has no compute fabric; None if the number is not in the catalogue.
        rate_gbit_s: of each port; None if it is not in the catalogue.
        compute: PCI addresses of compute ports; empty if unknown.
        others: PCI addresses of storage and in-band ports.
        link_layer: of compute ports: "Ethernet" if site.yaml has a section `roce`.
    """

    ports: int | None
    rate_gbit_s: float | None
    compute: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    link_layer: str = "InfiniBand"


def expected_ports(site: CheckContext, node: Node) -> Expected:
    """Return the compute ports that site.yaml and the catalogue give for a node."""
    platform, roles = site.context.platform(node), site.context.group(node).ports
    nics = platform.checks.compute_nics
    has_none = not platform.has_gpus or (nics is not None and not nics.applies)
    compute = roles.compute or (text_of(platform.compute_slots) or "").split()
    return Expected(
        ports=len(roles.compute) or (0 if has_none else integer_of(nics)),
        rate_gbit_s=number_of(platform.checks.compute_nic_gbit_s),
        compute=frozenset(compute),
        others=frozenset((*roles.storage, *roles.in_band)),
        link_layer="Ethernet" if site.context.spec.roce is not None else "InfiniBand",
    )


def read_adapters(sections: ProbeSections) -> tuple[Adapter, ...]:
    """Return all adapters in sysfs.

    Raises:
        Unreadable: the files of an adapter are missing.
    """
    adapters = parse_adapters(sections.text("tree"))
    text = sections.text("adapters").strip()
    if not text.isdecimal():
        raise Unreadable("a number of adapters", text, where="/sys/class/infiniband")
    if integer(text) != len(adapters):
        raise Unreadable(f"sysfs files of {text} adapters", str(len(adapters)), where="sysfs", is_description=True)
    return adapters


def compute_ports(adapters: tuple[Adapter, ...], expected: Expected) -> Iterator[tuple[Adapter, Port]]:
    """Yield the compute ports in the order of their adapters.

    Raises:
        Unreadable: addresses have roles, and an InfiniBand adapter has no PCI address.
    """
    for adapter in adapters:
        if adapter.is_bond or adapter.is_switch_management:
            continue
        is_ethernet = expected.link_layer != "Ethernet" and all(port.link_layer == "Ethernet" for port in adapter.ports)
        if (expected.compute or expected.others) and adapter.slot is None and not is_ethernet:
            raise Unreadable(f"the PCI address of {adapter.name}", "none", where="sysfs", is_description=True)
        if adapter.slot in expected.others or (expected.compute and adapter.slot not in expected.compute):
            continue
        is_named = adapter.slot in expected.compute
        yield from (
            (adapter, port)
            for port in adapter.ports
            if is_named or port.link_layer != "Ethernet" or expected.link_layer == "Ethernet"
        )
