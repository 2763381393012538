"""Capacity of one replica within its latency limits. Every figure has a band; plans use the pessimistic edge.

carried = Performance(serving, bands, max_in_flight=128, max_in_flight_binding=Binding.KV_CACHE)
point = carried.at(in_flight=20, demand)       # point.ttft.high, point.itl.middle, point.tokens_per_s.low
carried.limit(demand)                          # maximum in flight within the limits, and the binding limit
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ...catalog.calibrations import Band
from ..demand.classes import ClassDemand
from ..demand.pool_demand import PoolDemand
from .throughput import Serving

# The TTFT error depends on the load. Of 91 published servers with open arrivals, those below 100 in flight measured
# 0.85 to 1.6 times the computed TTFT, as closed loops do. Above 300 in flight, 10 % measured 6 to 13 times the computed
# value (residuals of validation_public.csv, read 2026-11-22).
_FEW, _MANY = 100.0, 300.0
_STEPS = 40  # bisections of an interval: error below 0.001 requests


class Provenance(StrEnum):
    """Source of a figure."""

    CALIBRATED = "calibrated"  # the model, corrected by the site's own measurements
    MEASURED = "measured"  # the model, fitted to published measurements of this model on this GPU
    MODELLED = "modelled"  # the model only: no published measurement of this model on this GPU


class Binding(StrEnum):
    """The limit that a replica reaches first."""

    KV_CACHE = "KV cache"
    MAX_NUM_SEQS = "max_num_seqs"
    TTFT = "TTFT"
    ITL = "ITL"
    E2E = "end to end"


@dataclass(frozen=True, slots=True)
class Interval:
    """A computed figure with the range of 80 % of published measurements."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, middle: float, band: Band) -> Interval:
        """Return a computed figure with the band of its quantity."""
        return cls(middle * band.p10, middle, middle * band.p90)


@dataclass(frozen=True, slots=True)
class Point:
    """One replica at a number of requests in flight."""

    in_flight: float
    ttft: Interval
    """Time to first token, in seconds."""
    itl: Interval
    """Time between tokens, in seconds."""
    tokens_per_s: Interval
    """Output tokens per second."""
    e2e_s: float
    """Time to the last token at the pessimistic edge, for a request of mean length."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The maximum load of a replica."""

    point: Point
    binding: Binding
    is_held: bool
    """False if a single request already exceeds the limit."""


@dataclass(frozen=True, slots=True)
class Performance:
    """Performance of one replica of a pool.

    Args:
        bands: by regime and quantity.
        max_in_flight: requests that run concurrently, limited by the KV cache and `max_num_seqs`.
        max_in_flight_binding: which of the two limits.
        is_generative: False for embedding and reranker models, which generate no tokens.
    """

    serving: Serving
    bands: Mapping[str, Mapping[str, Band]]
    max_in_flight: float
    max_in_flight_binding: Binding
    is_generative: bool = True

    def at(self, in_flight: float, demand: PoolDemand) -> Point:
        """Return the replica with `in_flight` requests of the demand's mean lengths."""
        input_tokens, output_tokens = demand.input_tokens, demand.output_tokens if self.is_generative else 1.0
        estimate = self.serving.open(in_flight, input_tokens, output_tokens)
        assert estimate.ttft_s is not None
        ttft = Interval.of(estimate.ttft_s, self._ttft_band(in_flight))
        itl = Interval.of(estimate.itl_s, self.bands["open"]["itl"])
        tokens = Interval.of(estimate.output_tokens_per_s, self.bands["open"]["throughput"])
        return Point(in_flight, ttft, itl, tokens, ttft.high + itl.high * (output_tokens - 1))

    def _ttft_band(self, in_flight: float) -> Band:
        few, many = self.bands["closed"]["ttft"], self.bands["open"]["ttft"]
        share = min(1.0, max(0.0, (in_flight - _FEW) / (_MANY - _FEW)))
        worst = max(many.p90, few.p90)
        return Band(p10=min(few.p10, many.p10), p90=few.p90 + share * (worst - few.p90), rows=few.rows + many.rows)

    def e2e_s(self, point: Point, demand: PoolDemand, input_tokens: float, output_tokens: float) -> float:
        """Return the seconds to the last token of a request of these lengths, at the pessimistic edge."""
        return self.ttft_s(point, demand, input_tokens) + point.itl.high * (
            (output_tokens if self.is_generative else 1.0) - 1
        )

    def ttft_s(self, point: Point, demand: PoolDemand, input_tokens: float) -> float:
        """Return the TTFT of a prompt of this length at the pessimistic edge, at least its own prefill time."""
        own, average = self.serving.prefill_s(input_tokens), self.serving.prefill_s(demand.input_tokens)
        return max(own, point.ttft.high + (own - average))

    def long_ttft_s(self, point: Point, demand: PoolDemand) -> list[tuple[ClassDemand, float]]:
        """Return the TTFT of each class for a prompt of the 95th percentile, at the pessimistic edge."""
        return [(each, self.ttft_s(point, demand, each.input_tokens.p95)) for each in demand.classes]

    def exceeded(self, point: Point, demand: PoolDemand) -> Binding | None:
        """Return the first limit that is exceeded at a point; None if all are met."""
        for each in demand.classes:
            if each.ttft_s is not None and self.ttft_s(point, demand, each.input_tokens.mean) > each.ttft_s:
                return Binding.TTFT
            if self.is_generative and each.itl_s is not None and point.itl.high > each.itl_s:
                return Binding.ITL
            if each.e2e_s is not None:
                took_s = self.e2e_s(point, demand, each.input_tokens.mean, each.output_tokens.mean)
                if took_s > each.e2e_s:
                    return Binding.E2E
        return None

    def limit(self, demand: PoolDemand) -> Limit:
        """Return the maximum in flight within all limits, at the pessimistic edge."""
        most = max(1.0, self.max_in_flight)
        full = self.at(most, demand)
        binding = self.exceeded(full, demand)
        if binding is None:
            return Limit(full, self.max_in_flight_binding, is_held=True)
        one = self.at(1.0, demand)
        if self.exceeded(one, demand) is not None:
            return Limit(one, self.exceeded(one, demand) or binding, is_held=False)
        low, high = 1.0, most
        for _ in range(_STEPS):
            middle = (low + high) / 2
            found = self.exceeded(self.at(middle, demand), demand)
            if found is None:
                low = middle
            else:
                high, binding = middle, found
        return Limit(self.at(low, demand), binding, is_held=True)

    def needed_in_flight(self, point: Point, demand: PoolDemand, *, share: float = 1.0) -> float:
        """Return the 95th percentile of the pool's requests in flight, with its replicas at `point`.

        Args:
            share: fraction of the users at the peak, 0 to 1.
        """
        asked = demand if share == 1 else demand.scaled(share)
        return asked.peak_in_flight(
            lambda input_tokens, output_tokens: self.e2e_s(point, demand, input_tokens, output_tokens)
        )

    def converged(self, replicas: int, demand: PoolDemand, most: float) -> Point | None:
        """Return the operating point of `replicas` replicas under the demand; None if it exceeds `most` per replica."""
        if replicas < 1:
            return None

        def missing(in_flight: float) -> float:
            point = self.at(in_flight, demand)
            return self.needed_in_flight(point, demand) - replicas * in_flight

        if missing(most) > 0:
            return None
        low, high = 0.0, most
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if missing(middle) > 0 else (low, middle)
        return self.at(high, demand)
