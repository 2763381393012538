"""Waiting for what another process does: asked often, with an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")


def until(ask: Callable[[], _Result], what: str, *, timeout_s: float = 60, every_s: float = 0.02) -> _Result:
    """The first true answer of `ask`."""
    deadline = time.monotonic() + timeout_s
    while not (answer := ask()):
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain: {what}"
        time.sleep(every_s)
    return answer
