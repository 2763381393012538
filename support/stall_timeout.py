"""How long a disk or a database may say nothing: whoever waits on it hears that it hangs, and who comes next at once.

    stall_timeout = StallTimeout(30.0)
    stall_timeout.on_hung = fail_all_who_wait
    stall_timeout.begin(loop)                # work is handed over
    stall_timeout.end()                      # it came back, well or not

What was handed over goes on: nobody knows whether it will be done, and it must not be handed over twice. Until it comes
back, `is_hung` says that more of it would only wait. One timer serves many pieces of work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

DISK_TIMEOUT_S = 30.0
"""Seconds that a piece of work may take. A disk that is merely busy takes one or two, one that hangs never answers, and
proxies before a server give up after 60 (guess, 2026-11)."""
HUNG = "the disk has not answered for a while"


class StallTimeout:
    """Watches one piece of work at a time.

    Args:
        timeout_s: seconds that it may take.
        on_change: called with True when work hangs, and with False when it came back after all.
    """

    def __init__(
        self, timeout_s: float = DISK_TIMEOUT_S, *, on_change: Callable[[bool], None] = lambda _: None
    ) -> None:
        self.is_hung = False
        """True from `on_hung` on until the work came back."""
        self.on_hung: Callable[[], None] = lambda: None
        self.timeout_s = timeout_s
        self._on_change = on_change
        self._loop: asyncio.AbstractEventLoop
        self._began: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Work begins."""
        self._loop, self._began = loop, loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self.timeout_s, self._check)

    def end(self) -> None:
        """It came back."""
        self._began = None
        if self.is_hung:
            self.is_hung = False
            self._on_change(False)

    def stop(self) -> None:
        """Watch no longer."""
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
