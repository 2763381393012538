"""Measures the CPU time to wake a process on another core, which gateways do for every request and event.

wake_us({0}, {1})    # 18.0

On physical hardware it is 1 or 2 us. On a virtual machine it is about ten times that, because the hypervisor wakes the
core. Single requests and events therefore cost more there than requests under load.
"""

from __future__ import annotations

import os
import statistics
import time

_TIMES = 300
_APART_S = 0.0005  # long enough for the other core to sleep


def wake_us(mine: set[int], others: set[int]) -> float:
    """Return the median CPU time in us of a write to a reader that sleeps on another core; Python adds less than 1 us.

    Args:
        mine: cores of the writer.
        others: cores of the reader.
    """
    allowed = os.sched_getaffinity(0)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.sched_setaffinity(0, others)
        os.close(writing)
        while os.read(reading, 1):
            pass
        os._exit(0)
    os.close(reading)
    took_ns = []
    os.sched_setaffinity(0, mine)
    for _ in range(_TIMES):
        time.sleep(_APART_S)
        begun_ns = time.thread_time_ns()
        os.write(writing, b".")
        took_ns.append(time.thread_time_ns() - begun_ns)
    os.sched_setaffinity(0, allowed)
    os.close(writing)
    os.waitpid(child, 0)
    return round(statistics.median(took_ns) / 1000, 1)
