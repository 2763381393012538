"""Progress lines with the seconds since the start."""

from __future__ import annotations

import time
from collections.abc import Callable


class Stopwatch:
    """A progress function that prefixes each line with the elapsed time.

    Args:
        write: called with each line.
        clock: returns monotonic seconds.
    """

    def __init__(self, write: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._began = clock()

    def __call__(self, text: str) -> None:
        self._write(f"{self._clock() - self._began:6.1f} s  {text}")
