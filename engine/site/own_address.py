"""Checks that the firewall of the nodes accepts ssh from this controller, before a plan changes it."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address

from sovctl.support.errors import InputError

from ..spec import Node, SiteSpec


def source_address(destination: IPv4Address) -> IPv4Address | None:
    """Return the address from which this machine sends to `destination`; None without a route. Sends no packet."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(destination), 9))  # discard, RFC 863
        except OSError:
            return None
        return IPv4Address(probe.getsockname()[0])


def check_management(spec: SiteSpec, nodes: Iterable[Node]) -> None:
    """Check that `perimeter.management` contains this controller's address towards every node.

    A node without a route is omitted, because the observation reports it. Behind address translation, a node sees
    another address; the automatic return of the firewall covers this case.

    Raises:
        InputError: a network is missing. The firewall would end the controller's own access.
    """
    found = {node.name: source_address(node.address) for node in nodes}
    outside = {
        name: address
        for name, address in found.items()
        if address is not None and not any(address in network for network in spec.perimeter.management)
    }
    if outside:
        name, address = next(iter(outside.items()))
        raise InputError(
            f"no network contains {address}, this controller's address towards {name}"
            + (f" and {len(outside) - 1} more nodes" if len(outside) > 1 else ""),
            where="site.yaml: perimeter.management",
            hint="add the controller's network: otherwise the firewall would end its own access to the nodes",
        )
