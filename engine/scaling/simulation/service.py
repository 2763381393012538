"""Service times of a simulated replica, from the sizing model. Pure.

Time to first token and time between tokens are those of `sizing.performance` for the requests in flight when the
request begins; they do not change afterwards. Figures are the middle of the model's band, because the policies are
compared with each other, not with a guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log, sqrt
from random import Random

from sovctl.support.errors import InputError

from ...sizing.demand.lengths import Z95
from ...sizing.demand.pool_demand import PoolDemand
from ...sizing.performance.capacity import Performance
from ...sizing.pool.pool import PoolSizing


@dataclass
class ServiceModel:
    """Service times of one replica of a pool.

    Args:
        max_running: requests that run concurrently; further ones wait.
        kv_requests: requests of mean length that fill the KV cache.
        peak_per_s: requests per second of the pool at the peak.
    """

    demand: PoolDemand
    performance: Performance
    max_running: int
    kv_requests: float
    peak_per_s: float
    gpus: int
    _times: dict[int, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, sized: PoolSizing) -> ServiceModel:
        """Return the model of a sized pool.

        Raises:
            InputError: the pool was not sized.
        """
        performance, demand, limit = sized.performance, sized.case.demand, sized.limit
        if performance is None or demand is None or limit is None or sized.need is None:
            raise InputError(
                f"pool {sized.case.pool.name} has no simulated load: {sized.reason}",
                where=f"pools[{sized.case.index}]",
                hint="add a `workload` of the pool to site.yaml; see `sovctl size`",
            )
        peak = demand.rate_per_s(lambda *_, **__: limit.point.e2e_s)
        return cls(
            demand,
            performance,
            max(1, int(performance.max_in_flight)),
            performance.serving.kv_max_concurrency,
            peak,
            sized.case.pool.gpus_per_replica,
        )

    def times(self, running: int) -> tuple[float, float]:
        """Return (time to first token, time between tokens) in seconds with `running` requests in flight."""
        if (known := self._times.get(running)) is None:
            point = self.performance.at(float(running), self.demand)
            known = self._times[running] = point.ttft.middle, point.itl.middle
        return known

    def output_tokens(self, random: Random) -> float:
        """Return the tokens of one answer, at least 1: lognormal with the demand's mean and 95th percentile."""
        weights = [each.rate_per_s(10.0) for each in self.demand.classes]
        lengths = random.choices(self.demand.classes, weights)[0].output_tokens
        ratio = max(1.0, lengths.p95 / lengths.mean)
        sigma = Z95 - sqrt(max(0.0, Z95 * Z95 - 2 * log(ratio)))
        return max(1.0, random.lognormvariate(log(lengths.mean) - sigma * sigma / 2, sigma))

    def violates(self, ttft_s: float, itl_s: float) -> bool:
        """Return whether a request exceeds the strictest limit of the workload."""
        limits = (self.demand.ttft_s, ttft_s), (self.demand.itl_s, itl_s)
        return any(limit is not None and value > limit for limit, value in limits)
