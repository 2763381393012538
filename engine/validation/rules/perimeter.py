"""Rules about the flows and routes of the perimeter. Pure functions of one site."""

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


def check_permitted_routes(site: SiteUnderValidation) -> Iterator[Problem]:
    routes = site.spec.perimeter.routes
    pairs = ((f"perimeter.routes[{i}]", f"{each.destination} via {each.via}") for i, each in enumerate(routes))
    yield from duplicates("route", pairs)
    groups = [group.name for group in site.spec.node_groups]
    for index, route in enumerate(routes):
        where = f"perimeter.routes[{index}]"
        if route.via.version != route.destination.version:
            yield Problem(
                f"expected an IPv{route.destination.version} address for `{route.destination}`, got `{route.via}`",
                where=f"{where}.via",
                hint="name a router of the same family",
            )
        elif not route.via.is_private or route.via.is_unspecified or route.via.is_loopback:
            yield Problem(
                f"expected a private or link-local address, got `{route.via}`",
                where=f"{where}.via",
                hint="name the router of the site, to which the node sends the packets",
            )
        for number, name in enumerate(route.node_groups):
            yield from unknown_name("node group", name, groups, f"{where}.node_groups[{number}]")
