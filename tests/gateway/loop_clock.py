"""The clock of the running event loop, in a test's hands: on a slow machine no more time passes than it says.

stop_clock()
pass_time(30)                                            # what is due by then happens in the loop's next turns
await turns_until(lambda: server.requests, "a request")  # which ends by the wall clock
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


def stop_clock() -> None:
    """No time passes any more but by `pass_time`."""
    loop = asyncio.get_running_loop()
    now_s = loop.time()
    loop.time = lambda: now_s  # type: ignore[method-assign]


def pass_time(seconds: float) -> None:
    """Its clock, standing still or not, is so much later at once."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # type: ignore[method-assign]


async def turns_until(ask: Callable[[], object], what: str, *, timeout_s: float = 60) -> None:
    """Let the loop turn until `ask` says something true."""
    deadline = time.monotonic() + timeout_s
    while not ask():
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain: {what}"
        await asyncio.sleep(0)
