"""Rows that this process wrote for each tenant during the lifetime of a row, so that one tenant cannot fill the vault.

A row lives at least `ttl_s` after its last use. Rows are counted in the current and in the previous window of that
length. The counts begin again with the process. Pure: time is an argument.

    rows = TenantRows(limit=1_000_000, window_s=86_400)
    rows.is_full("retail", now)
    rows.add("retail", now)
"""

from __future__ import annotations


class TenantRows:
    """Counts by tenant.

    Args:
        limit: rows of one tenant; None for no limit.
        window_s: lifetime of a row in seconds.
    """

    def __init__(self, *, limit: int | None, window_s: int) -> None:
        self._limit = limit
        self._window_s = window_s
        self._began = 0
        self._current: dict[str, int] = {}
        self._previous: dict[str, int] = {}

    def is_full(self, tenant: str, now: int) -> bool:
        """Return whether the tenant has used up its rows.

        Args:
            now: seconds since 1970.
        """
        if self._limit is None:
            return False
        self._turn(now)
        return self._current.get(tenant, 0) + self._previous.get(tenant, 0) >= self._limit

    def add(self, tenant: str, now: int) -> None:
        """Count a row."""
        self._turn(now)
        self._current[tenant] = self._current.get(tenant, 0) + 1

    def _turn(self, now: int) -> None:
        """Begin a new window when the current one is over."""
        passed_s = now - self._began
        if 0 <= passed_s < self._window_s:
            return
        self._previous = self._current if 0 <= passed_s < 2 * self._window_s else {}
        self._current, self._began = {}, now
