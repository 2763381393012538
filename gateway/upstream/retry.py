"""When is it right to try again? A budget, so that an outage is not made worse by everybody trying twice. Pure.

budget = RetryBudget()
budget.deposit(now_s)      # a request came
budget.withdraw(now_s)     # True when it may be tried once more
retry_after_s(b"2", now=datetime.now(UTC))      # 2.0
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# Finagle's RetryBudget has the same three figures as its defaults (twitter/finagle, RetryBudget.scala; read 2026-11).
_SHARE = 0.2  # of requests may be tried a second time
_FREE_PER_S = 10.0  # retries that are allowed however few requests there are
_WINDOW_S = 10.0  # what was not used is forgotten after that long


@dataclass(slots=True)
class RetryBudget:
    """How many requests to one upstream may be tried again. All times are of one monotonic clock, in seconds."""

    share: float = _SHARE
    free_per_s: float = _FREE_PER_S
    window_s: float = _WINDOW_S
    _balance: float = 0.0
    _at_s: float | None = None

    def deposit(self, now_s: float) -> None:
        """A request came in."""
        self._forget(now_s)
        self._balance += self.share

    def withdraw(self, now_s: float) -> bool:
        """True when one request may be tried again; that is then taken off."""
        self._forget(now_s)
        if self._balance < 1:
            return False
        self._balance -= 1
        return True

    def _forget(self, now_s: float) -> None:
        """What is saved fades, and the free part grows, as time goes by; at most a window of either."""
        free = self.free_per_s * self.window_s
        if self._at_s is None:
            self._balance = free
        else:
            passed = min(1.0, max(0.0, now_s - self._at_s) / self.window_s)
            self._balance += (free - self._balance) * passed
        self._at_s = now_s


def retry_after_s(header: bytes | None, *, now: datetime) -> float | None:
    """How long a server asks us to wait, in seconds, 0 or more; None when it doesn't say. RFC 9110, 10.2.3."""
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
