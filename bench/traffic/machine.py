"""What the machine itself takes to wake somebody, which gateways do for every request and every event.

wake_us({0}, {1})    # 18.0

On hardware it is 1 or 2 us. A virtual machine has to ask its host to kick a core that sleeps, which costs ten times
that: there, a request that is alone and an event that goes out alone cost more than many under load.
"""

from __future__ import annotations

import os
import statistics
import time

_TIMES = 300
_APART_S = 0.0005  # time enough for the other core to fall asleep


def wake_us(mine: set[int], others: set[int]) -> float:
    """Processor time of a write whose reader sleeps on another core, median; what Python adds is less than one.

    Args:
        mine: cores of who writes.
        others: cores of who reads.
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
