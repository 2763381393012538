"""Bytes of request bodies in this process by tenant, so that one tenant cannot take the memory of all.

bytes_in_flight = BytesInFlight()
bytes_in_flight.take("retail", 8192, limit=1 << 28)      # False: the tenant has too many in flight
bytes_in_flight.give_back("retail", 8192)
"""

from __future__ import annotations


class BytesInFlight:
    """Counts by tenant; a tenant without a request has no entry."""

    __slots__ = ("_by_tenant",)

    def __init__(self) -> None:
        self._by_tenant: dict[str, int] = {}

    def take(self, tenant: str, size: int, *, limit: int) -> bool:
        """Count a request, and return whether it may be served. A tenant's only request always may.

        Args:
            size: bytes of its body, or an upper bound.
            limit: bytes of all requests of the tenant.
        """
        held = self._by_tenant.get(tenant, 0)
        if held and held + size > limit:
            return False
        self._by_tenant[tenant] = held + size
        return True

    def give_back(self, tenant: str, size: int) -> None:
        """Stop counting these bytes, which `take` counted."""
        left = self._by_tenant.pop(tenant, 0) - size  # absent if all its requests have empty bodies
        if left > 0:
            self._by_tenant[tenant] = left
