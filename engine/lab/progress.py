"""Telling a waiting person how far it is, with the seconds since the start."""

from __future__ import annotations

import time
from collections.abc import Callable


class Stopwatch:
    """A progress function that puts the elapsed time before each line.

    Args:
        tell: what writes a line.
        clock: seconds, monotonic.
    """

    def __init__(self, tell: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._began = clock()

    def __call__(self, text: str) -> None:
        self._tell(f"{self._clock() - self._began:6.1f} s  {text}")
