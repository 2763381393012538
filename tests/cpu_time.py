"""CPU time of a piece of work, as far from chance as a shared machine allows."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def least_cpu_s(work: Callable[[], object], *, rounds: int = 3) -> float:
    """The least of `rounds` runs [s]: others' load only adds, and the garbage of other tests is not this work's.

    Garbage is not collected before, because that takes 0.5 s after the collection of all tests.
    """
    seconds = []
    gc.disable()
    try:
        for _ in range(rounds):
            started = time.process_time()
            work()
            seconds.append(time.process_time() - started)
    finally:
        gc.enable()
    return min(seconds)
