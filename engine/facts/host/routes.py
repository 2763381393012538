"""Parser of `ip -json -N route show table all`, and of the tunnels of `ip -json -details link show` (iproute2 6.1)."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, Literal

from ..unreadable import MALFORMED, Unreadable

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

_STAYS_ON_NODE = frozenset(
    ("local", "broadcast", "multicast", "anycast", "blackhole", "unreachable", "prohibit", "throw")
)
"""Types whose packets are delivered on the node or its link, rejected, or looked up in the next table: ip-route(8)."""
_TUNNELS = frozenset(
    (
        "erspan", "geneve", "gre", "gretap", "ip6erspan", "ip6gre", "ip6gretap", "ip6tnl", "ipip", "ppp", "sit", "tun",
        "vti", "vti6", "vxlan", "wireguard", "xfrm",
    )
)  # fmt: skip
"""Kinds of interfaces that carry packets inside of packets to another host: ip-link(8)."""


@dataclass(frozen=True, slots=True)
class NextHop:
    """The router and the interface of a route.

    Args:
        router: None if the destination is on the link of the interface.
    """

    router: Address | None
    device: str


@dataclass(frozen=True, slots=True)
class Route:
    """A route by which packets leave the node.

    Args:
        protocol: the origin, such as `kernel` for the network of an address, `boot`, `dhcp` or `ra`.
    """

    destination: Network
    hops: tuple[NextHop, ...]
    table: str
    protocol: str

    @property
    def is_of_interface(self) -> bool:
        """Whether the kernel derived the route from an address or a router advertisement of an interface."""
        return self.protocol in ("kernel", "ra") and all(hop.router is None for hop in self.hops)

    def __str__(self) -> str:
        """Return the route as in `ip route`; a default route is `default`."""
        name = "default" if self.destination.prefixlen == 0 else str(self.destination)
        hops = ", ".join(
            f"via {hop.router} dev {hop.device}" if hop.router else f"dev {hop.device}" for hop in self.hops
        )
        return f"{name} {hops}" + (f" table {self.table}" if self.table != "main" else "")


def parse_routes(text: str, *, version: Literal[4, 6]) -> tuple[Route, ...]:
    """Return the routes by which packets can leave the node, in the order of the kernel.

    Args:
        version: of IP; `default` has no family.

    Raises:
        Unreadable: the text is not JSON of ip.
    """
    try:
        return tuple(
            _route(row, version)
            for row in json.loads(text)
            if row and str(row.get("type", "unicast")) not in _STAYS_ON_NODE
        )
    except MALFORMED:
        raise Unreadable("JSON of ip", text, where="ip -json route show table all") from None


def parse_tunnels(text: str) -> frozenset[str]:
    """Return the names of the interfaces that are tunnels.

    Raises:
        Unreadable: the text is not JSON of ip, or contains no interface.
    """
    try:
        rows = [row for row in json.loads(text) if row]
        found = frozenset(str(row["ifname"]) for row in rows if _kinds(row) & _TUNNELS)
    except MALFORMED:
        raise Unreadable("JSON of ip", text, where="ip -json -details link show") from None
    if not rows:
        raise Unreadable("network interfaces", text, where="ip -json -details link show")
    return found


def _kinds(row: dict[str, Any]) -> set[str]:
    """Return kind and type of an interface; a dial-up connection has the type `ppp` and no kind."""
    return {str(row.get("linkinfo", {}).get("info_kind")), str(row.get("link_type"))}


def _route(row: dict[str, Any], version: Literal[4, 6]) -> Route:
    every = {4: "0.0.0.0/0", 6: "::/0"}[version]
    destination = ipaddress.ip_network(every if row["dst"] == "default" else row["dst"])
    if destination.version != version:
        raise ValueError("another family")
    hops = tuple(_hop(each) for each in row.get("nexthops") or [row])
    return Route(destination, hops, str(row.get("table", "main")), str(row.get("protocol", "boot")))


def _hop(row: dict[str, Any]) -> NextHop:
    router = row.get("gateway") or row.get("via", {}).get("host")  # `via`: a router of the other family
    return NextHop(ipaddress.ip_address(router) if router else None, str(row["dev"]))
