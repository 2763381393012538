"""network.routes-inside-site: no route of the node leads outside the networks and routers of site.yaml.

Routes do not open the firewall. This check and `perimeter.no-way-out` fail independently: a route to the outside is a
way out as soon as the firewall is not loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_network

from ....facts.host.routes import Network, Route, parse_routes, parse_tunnels
from ....resources.perimeter import Rules, rules_for
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import ProbeSections, parse_sections

_REMOTE = re.compile(r"\b(?:saddr|daddr) (\S+)")
_ON_LINK = tuple(map(ip_network, ("127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "::1/128", "fe80::/10", "ff00::/8")))
"""Loopback, link-local and multicast, which routers do not forward: RFC 6890, 2.2; RFC 4291, 2.5.6 and 2.7."""
_PRIVATE = tuple(map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))
"""RFC 1918, 3; RFC 4193, 3.1."""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Networks and routes of site.yaml for one node.

    Args:
        networks: the node's firewall has a rule for them; sorted.
        permitted: destination and router of each route of `perimeter.routes`.
    """

    networks: tuple[str, ...]
    permitted: tuple[tuple[str, str], ...]


class RoutesInsideSite(Check[Expected]):
    id, version, method = "network.routes-inside-site", 1, Method.EXAMINE
    title = "no route leads outside the networks and routers of site.yaml"
    controls = ("cm-6", "sc-7")
    severity = Severity.HIGH
    remedy = "delete the route from the network configuration, or add it to `perimeter.routes` of site.yaml"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        group = site.context.group(node).name
        permitted = (
            (str(each.destination), str(each.via))
            for each in site.context.spec.perimeter.routes
            if not each.node_groups or group in each.node_groups
        )
        yield Expected(networks=_remote_networks(rules_for(site.context, node)), permitted=tuple(permitted))

    def probe(self, expected: Expected) -> Probe:
        """Print the routes of all tables, and the interfaces."""
        return Probe.of(
            ipv4="ip -json -4 route show table all",
            ipv6="ip -json -6 route show table all",
            interfaces="ip -json -details link show",
        )

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail for every route that is neither in the networks of site.yaml nor of an interface with a private one."""
        sections = parse_sections(output)
        routes, tunnels = read_routes(sections), parse_tunnels(sections.text("interfaces"))
        findings = [
            failed("only routes to networks of site.yaml", str(route))
            for route in routes
            if not _is_inside(route, expected, tunnels)
        ]
        return worst(findings, otherwise=f"expected only routes to networks of site.yaml, got {_listed(routes)}")


def read_routes(sections: ProbeSections) -> tuple[Route, ...]:
    """Return the routes of both families in the output of the probe.

    Raises:
        Unreadable: a family is missing or unreadable.
    """
    return (*parse_routes(sections.text("ipv4"), version=4), *parse_routes(sections.text("ipv6"), version=6))


def _remote_networks(rules: Rules) -> tuple[str, ...]:
    return tuple(sorted({found for rule in (*rules.inbound, *rules.outbound) for found in _REMOTE.findall(rule)}))


def _is_inside(route: Route, expected: Expected, tunnels: frozenset[str]) -> bool:
    routers = {str(hop.router) for hop in route.hops}
    if any(_covers(destination, route) and routers == {via} for destination, via in expected.permitted):
        return True
    if any(hop.device in tunnels for hop in route.hops):
        return False
    return (
        _is_within(route, _ON_LINK)
        or any(_covers(network, route) for network in expected.networks)
        or (route.is_of_interface and _is_within(route, _PRIVATE))
    )


def _covers(network: str, route: Route) -> bool:
    return _is_within(route, (ip_network(network),))


def _is_within(route: Route, networks: Iterable[Network]) -> bool:
    first, last = route.destination.network_address, route.destination.broadcast_address
    return any(first in network and last in network for network in networks)


def _listed(routes: Iterable[Route]) -> str:
    return ", ".join(str(route) for route in routes if not _is_within(route, _ON_LINK)) or "none"
