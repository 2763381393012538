"""Measures the fair queue once a second: gauges without names of tenants, and a log event with the tenant that waits.

The log event `tenant waits` is written for a tenant whose oldest request has waited longer than half of
`limits.queue_timeout_s`, at most once a minute for each tenant. Metrics have no label of the tenant, so this event
names the tenant of the alert `SovctlTenantWaits`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from ..quota.fair_queue import FairQueue
from ..telemetry import log
from ..telemetry.metrics import Metrics

_MEASURE_EVERY_S = 1.0  # as often as workers share their metrics
_LOG_EVERY_S = 60.0  # for each tenant; the alert reads five minutes


class _Limits(Protocol):
    @property
    def queue_timeout_s(self) -> float:
        """Seconds that a request waits for its turn."""


class QueueFigures:
    """Gauges and log events of the fair queue of a worker."""

    def __init__(self, queue: FairQueue, metrics: Metrics) -> None:
        self._queue = queue
        self._metrics = metrics
        self._logged_s: dict[str, float] = {}

    def measure(self, now_s: float, *, queue_timeout_s: float) -> list[str]:
        """Set the gauges, and return the tenants to log, sorted by name.

        Args:
            now_s: time of the event loop.
        """
        waited_s = self._queue.waited_s(now_s)
        self._metrics.queue_waiting.put(sum(self._queue.waiting.values()))
        self._metrics.queue_waiting_tenants.put(len(waited_s))
        self._metrics.queue_longest_wait_s.put(max(waited_s.values(), default=0.0))
        self._logged_s = {each: at for each, at in self._logged_s.items() if now_s - at < _LOG_EVERY_S}
        late = sorted(
            each for each, waited in waited_s.items() if waited > queue_timeout_s / 2 and each not in self._logged_s
        )
        self._logged_s.update(dict.fromkeys(late, now_s))
        return late


async def measure_queue(queue: FairQueue, limits: Callable[[], _Limits], metrics: Metrics) -> None:
    """Measure the queue every second. Does not return.

    Args:
        limits: returns the limits of the current settings.
    """
    figures, loop = QueueFigures(queue, metrics), asyncio.get_running_loop()
    while True:
        now_s, waiting = loop.time(), queue.waiting
        for tenant in figures.measure(now_s, queue_timeout_s=limits().queue_timeout_s):
            waited_s = round(queue.waited_s(now_s)[tenant], 1)
            log.event("tenant waits", level=30, tenant=tenant, requests=waiting[tenant], waited_s=waited_s)
        await asyncio.sleep(_MEASURE_EVERY_S)
