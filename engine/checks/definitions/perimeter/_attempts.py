"""Connection attempts from a node to addresses outside the perimeter (`probes/scripts/egress.py`).

The error of an attempt shows where the packet was stopped. Measured with nft 1.0.6:
- UDP: EPERM if the node's firewall drops or rejects the datagram, ENETUNREACH without a route, success if it leaves.
- TCP: a dropped connection times out inside or outside the node, so the UDP result is needed too.
  A refused connection may have been refused by a remote host, so it is UNKNOWN.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import MALFORMED, Unreadable, excerpt
from ...model.check import Judgement, failed, unknown
from ...model.check_context import CheckContext

_STOPPED_TCP = frozenset({"timeout", "no-route", "denied"})
_STOPPED_UDP = frozenset({"no-route", "denied"})
_SENT_TCP = frozenset({"connected"})
_SENT_UDP = frozenset({"sent"})


@dataclass(frozen=True)
class Endpoint:
    """An IPv4 or IPv6 address and a port outside the perimeter."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


@dataclass(frozen=True)
class Attempt:
    """The result of one attempt over TCP and UDP."""

    endpoint: Endpoint
    tcp: str
    udp: str


def exception_endpoints(site: CheckContext) -> tuple[Endpoint, ...]:
    """Return the endpoints of `site.yaml: perimeter.exceptions`, in their order."""
    return tuple(Endpoint(str(each.address), each.port) for each in site.context.spec.perimeter.exceptions)


def parse_attempts(text: str, endpoints: tuple[Endpoint, ...]) -> tuple[Attempt, ...]:
    """Parse the output of `probes/scripts/egress.py`: one JSON line per endpoint, in order.

    Raises:
        Unreadable: a line is missing or has another form.
    """
    try:
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        attempts = tuple(Attempt(Endpoint(r["address"], r["port"]), str(r["tcp"]), str(r["udp"])) for r in rows)
    except MALFORMED:
        raise Unreadable("one JSON line per attempt", text, where="egress") from None
    if tuple(each.endpoint for each in attempts) != endpoints:
        raise Unreadable(f"{len(endpoints)} attempts", f"{len(attempts)}", where="egress", is_description=True)
    return attempts


def parse_names(text: str, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Parse the addresses to which `probes/scripts/egress.py` resolved each name; empty for a name without address.

    Raises:
        Unreadable: a line is missing or has another form.
    """
    try:
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        found = {str(row["name"]): tuple(map(str, row["addresses"])) for row in rows}
    except MALFORMED:
        raise Unreadable("one JSON line per name", text, where="egress") from None
    if tuple(found) != names:
        raise Unreadable(f"{len(names)} names", f"{len(found)}", where="egress", is_description=True)
    return found


def blocked_findings(attempt: Attempt, user: str) -> Iterator[Judgement]:
    """Yield a finding for each protocol that was not stopped on the node."""
    where = f"{attempt.endpoint} blocked for {user}"
    for protocol, result, sent, stopped in (
        ("TCP", attempt.tcp, _SENT_TCP, _STOPPED_TCP),
        ("UDP", attempt.udp, _SENT_UDP, _STOPPED_UDP),
    ):
        if result in sent:
            yield failed(where, f"{protocol} {result}")
        elif result not in stopped:
            yield unknown(where, f"{protocol} {excerpt(result)}")
