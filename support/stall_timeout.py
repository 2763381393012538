"""Detects a stalled disk or database.

    stall_timeout = StallTimeout(30.0)
    stall_timeout.on_hung = fail_all_pending_calls
    stall_timeout.begin(loop)                # an operation begins
    stall_timeout.end()                      # the operation has ended, with or without an error

After the timeout, pending calls fail, and new calls fail immediately while `is_hung` is True. The stalled operation is
not cancelled and must not be repeated, because it may still succeed. One timer serves many operations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

DISK_TIMEOUT_S = 30.0
"""Seconds that an operation may take. A busy disk answers within 2 s; reverse proxies time out after 60 s
(guess, 2026-11)."""
HUNG = "the disk has not answered for a while"


class StallTimeout:
    """Watches one operation at a time.

    Args:
        timeout_s: seconds that an operation may take.
        on_change: called with True when an operation stalls, and with False when it ends after all.
    """

    def __init__(
        self, timeout_s: float = DISK_TIMEOUT_S, *, on_change: Callable[[bool], None] = lambda _: None
    ) -> None:
        self.is_hung = False
        """Whether the current operation has exceeded the timeout."""
        self.on_hung: Callable[[], None] = lambda: None
        self.timeout_s = timeout_s
        self._on_change = on_change
        self._loop: asyncio.AbstractEventLoop
        self._began: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the timeout of an operation."""
        self._loop, self._began = loop, loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self.timeout_s, self._check)

    def end(self) -> None:
        """End the timeout; the operation has ended."""
        self._began = None
        if self.is_hung:
            self.is_hung = False
            self._on_change(False)

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        if self._began is None:
            return
        left_s = self._began + self.timeout_s - self._loop.time()
        if left_s > 0:
            self._timer = self._loop.call_later(left_s, self._check)
            return
        self.is_hung = True
        self._on_change(True)
        self.on_hung()
