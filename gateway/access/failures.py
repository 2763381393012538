"""Throttles failed authentication, per source address and in total. Memory is bounded. Pure: time is an argument.

Each address and the total have a balance of failures, which refills over a minute. A failure beyond it is answered with
429 instead of 401. A valid credential is served whatever the balance is, because many clients may share one address.

    failures = Failures()
    failures.count("192.0.2.7", limits, now_s=now_s)        # None, or the seconds until the next failure is answered
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address

from ..settings.access import FailureLimits

MAX_ADDRESSES = 4096
"""Addresses with a balance of their own; the one that failed longest ago is dropped. Less than 1 MB."""
_MINUTE_S = 60.0
_IPV6_PREFIX = 64  # of one site or host (RFC 6177, 2)


@dataclass(slots=True)
class _Balance:
    left: float
    at_s: float

    def wait_s(self, per_minute: int, now_s: float) -> float:
        """Refill, and return the seconds until one failure is allowed; 0 if one is now."""
        passed_s = max(0.0, now_s - self.at_s)
        self.left = min(float(per_minute), self.left + passed_s * per_minute / _MINUTE_S)
        self.at_s = now_s
        return 0.0 if self.left >= 1 else (1 - self.left) * _MINUTE_S / per_minute


class Failures:
    """Failed authentication of one listener of one process."""

    def __init__(self) -> None:
        self._by_source: OrderedDict[str, _Balance] = OrderedDict()
        self._total: _Balance | None = None

    def count(self, address: str, limits: FailureLimits, *, now_s: float) -> float | None:
        """Count a failure. Return None if it is within the limits, else the seconds until one is.

        Args:
            address: source address of the connection.
            now_s: monotonic seconds.
        """
        source = source_of(address)
        own = self._by_source.pop(source, None) or _Balance(float(limits.per_minute), now_s)
        while len(self._by_source) >= MAX_ADDRESSES:
            self._by_source.popitem(last=False)
        self._by_source[source] = own
        if self._total is None:
            self._total = _Balance(float(limits.total_per_minute), now_s)
        wait_s = max(own.wait_s(limits.per_minute, now_s), self._total.wait_s(limits.total_per_minute, now_s))
        if wait_s > 0:
            return wait_s
        own.left -= 1
        self._total.left -= 1
        return None


def source_of(address: str) -> str:
    """Return the address or, for IPv6, its network of /64, from which one host can choose any address."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((parsed, _IPV6_PREFIX), strict=False))
