"""Rules about the flows of the perimeter. Pure functions of one site."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from ...spec.perimeter import Flow
from .rule import SiteUnderValidation, duplicates, unknown_name


def check_flows(site: SiteUnderValidation) -> Iterator[Problem]:
    flows = site.spec.perimeter.flows
    yield from duplicates("flow", ((f"perimeter.flows[{i}].name", flow.name) for i, flow in enumerate(flows)))
    groups = [group.name for group in site.spec.node_groups]
    for index, flow in enumerate(flows):
        where = f"perimeter.flows[{index}]"
        yield from _addresses(flow, where)
        if not flow.used_ports():
            yield Problem(
                f"service `{flow.service.value}` has no default port",
                where=f"{where}.ports",
                hint="name the ports, such as [9392]",
            )
        for number, name in enumerate(flow.node_groups):
            yield from unknown_name("node group", name, groups, f"{where}.node_groups[{number}]")


def _addresses(flow: Flow, where: str) -> Iterator[Problem]:
    for index, network in enumerate(flow.addresses):
        if not network.is_private or network.prefixlen == 0 or getattr(network.network_address, "ipv4_mapped", None):
            yield Problem(
                f"expected a private address or network, got `{network}`",
                where=f"{where}.addresses[{index}]",
                hint="a flow is inside the site; name an outside address under perimeter.exceptions",
            )
