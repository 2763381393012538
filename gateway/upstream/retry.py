"""Retry budget, which prevents that retries prolong an outage; and the `retry-after` header. Pure.

budget = RetryBudget()
budget.deposit(now_s)      # for each request
budget.withdraw(now_s)     # True if a retry is permitted
retry_after_s(b"2", now=datetime.now(UTC))      # 2.0
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# Finagle's RetryBudget has the same three defaults (twitter/finagle, RetryBudget.scala; read 2026-11).
_SHARE = 0.2  # retries per request
_FREE_PER_S = 10.0  # retries that are permitted independently of the number of requests
_WINDOW_S = 10.0  # unused retries expire after this time


@dataclass(slots=True)
class RetryBudget:
    """Number of permitted retries at one upstream. All times are of one monotonic clock, in seconds."""

    share: float = _SHARE
    free_per_s: float = _FREE_PER_S
    window_s: float = _WINDOW_S
    _balance: float = 0.0
    _at_s: float | None = None

    def deposit(self, now_s: float) -> None:
        """Count a request."""
        self._forget(now_s)
        self._balance += self.share

    def withdraw(self, now_s: float) -> bool:
        """Return whether one retry is permitted, and count it."""
        self._forget(now_s)
        if self._balance < 1:
            return False
        self._balance -= 1
        return True

    def _forget(self, now_s: float) -> None:
        """Expire deposits and add the free retries for the elapsed time, at most one window of either."""
        free = self.free_per_s * self.window_s
        if self._at_s is None:
            self._balance = free
        else:
            passed = min(1.0, max(0.0, now_s - self._at_s) / self.window_s)
            self._balance += (free - self._balance) * passed
        self._at_s = now_s


def retry_after_s(header: bytes | None, *, now: datetime) -> float | None:
    """Return the seconds in a server's `retry-after` header, 0 or more; None if it is absent or invalid. RFC 9110,
    10.2.3."""
    if header is None:
        return None
    text = header.decode("latin-1").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
