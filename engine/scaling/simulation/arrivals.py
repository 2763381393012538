"""Arrival times of a day of requests: a synthetic trace with the shape of a public one. Pure.

The busiest hour has the peak rate of the pool's workload in site.yaml. Within an hour, arrivals are Poisson, and each
minute has a random factor, because the minutes of the public trace vary more than Poisson arrivals do.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from ...catalog.scaling import DayShape, minute_deviation

DAY_S = 86_400.0
_MINUTE_S = 60.0


def arrivals(shape: DayShape, peak_per_s: float, random: Random) -> Iterator[float]:
    """Yield arrival times in seconds since midnight UTC, ascending.

    Args:
        peak_per_s: mean rate of the busiest hour.
    """
    deviation = minute_deviation()
    for minute in range(int(DAY_S / _MINUTE_S)):
        begin_s = minute * _MINUTE_S
        rate = (
            peak_per_s * shape.at((begin_s + _MINUTE_S / 2) / 3600) * random.gammavariate(deviation**-2, deviation**2)
        )
        time_s = begin_s + random.expovariate(rate) if rate > 0 else DAY_S
        while time_s < begin_s + _MINUTE_S:
            yield time_s
            time_s += random.expovariate(rate)
