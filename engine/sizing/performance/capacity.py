"""What one replica carries within its limits: every figure with its band, the plan on the pessimistic edge.

carried = Performance(serving, bands, max_in_flight=128, max_in_flight_binding=Binding.KV_CACHE)
point = carried.at(in_flight=20, demand)       # point.ttft.high, point.itl.middle, point.tokens_per_s.low
carried.limit(demand)                          # the most in flight within the limits, and what binds
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ...catalog.calibrations import Band
from ..demand.classes import ClassDemand
from ..demand.pool_demand import PoolDemand
from .throughput import Serving

# Waiting for the first token is known well for servers with few requests in flight and badly for full ones: of the 91
# published servers under open arrivals, those below 100 in flight took 0.85 to 1.6 times what is computed, as closed
# loops do; beyond 300 one in ten took six to thirteen times (residuals of validation_public.csv, read 2026-11-22).
_FEW, _MANY = 100.0, 300.0
_STEPS = 40  # of halving an interval: exact to a thousandth of a request


class Provenance(StrEnum):
    """Where a figure comes from."""

    CALIBRATED = "calibrated"  # the model, held to this site's own measurements
    MEASURED = "measured"  # the model, fitted to others' measurements of this very model and GPU
    MODELLED = "modelled"  # the model alone: of this GPU or this model, or of both together, nobody measured anything


class Binding(StrEnum):
    """What keeps a replica from taking more."""

    KV_CACHE = "KV cache"
    MAX_NUM_SEQS = "max_num_seqs"
    TTFT = "TTFT"
    ITL = "ITL"
    E2E = "end to end"


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, and where the truth lay in eight of ten published measurements."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, middle: float, band: Band) -> Interval:
        """A computed figure with the band of its kind."""
        return cls(middle * band.p10, middle, middle * band.p90)


@dataclass(frozen=True, slots=True)
class Point:
    """One replica with so many requests in flight."""

    in_flight: float
    ttft: Interval
    """Seconds."""
    itl: Interval
    """Seconds."""
    tokens_per_s: Interval
    """Output."""
    e2e_s: float
    """At the pessimistic edge, of a request of average length."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a replica carries."""

    point: Point
    binding: Binding
    is_held: bool
    """False when the limit is passed by a single request already."""


@dataclass(frozen=True, slots=True)
class Performance:
    """One replica of a pool.

    Args:
        bands: by regime, then by quantity.
        max_in_flight: requests that it runs at once, by its KV cache and `max_num_seqs`.
        max_in_flight_binding: which of the two.
        answers: False for embeddings and rerankers, which make no tokens.
    """

    serving: Serving
    bands: Mapping[str, Mapping[str, Band]]
    max_in_flight: float
    max_in_flight_binding: Binding
    answers: bool = True

    def at(self, in_flight: float, demand: PoolDemand) -> Point:
        """With so many in flight, of the demand's average lengths."""
        input_tokens, output_tokens = demand.input_tokens, demand.output_tokens if self.answers else 1.0
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
        """Of a request of other lengths in the same company, at the pessimistic edge."""
        return self.ttft_s(point, demand, input_tokens) + point.itl.high * (
            (output_tokens if self.answers else 1.0) - 1
        )

    def ttft_s(self, point: Point, demand: PoolDemand, input_tokens: float) -> float:
        """Of a prompt of another length in the same company, at the pessimistic edge; not below its own prefill."""
        own, average = self.serving.prefill_s(input_tokens), self.serving.prefill_s(demand.input_tokens)
        return max(own, point.ttft.high + (own - average))

    def long_ttft_s(self, point: Point, demand: PoolDemand) -> list[tuple[ClassDemand, float]]:
        """For each class, the time to the first token of its 95th percentile's prompt, at the pessimistic edge."""
        return [(each, self.ttft_s(point, demand, each.input_tokens.p95)) for each in demand.classes]

    def passed(self, point: Point, demand: PoolDemand) -> Binding | None:
        """The first limit that is passed at a point; None within all of them."""
        for each in demand.classes:
            if each.ttft_s is not None and self.ttft_s(point, demand, each.input_tokens.mean) > each.ttft_s:
                return Binding.TTFT
            if self.answers and each.itl_s is not None and point.itl.high > each.itl_s:
                return Binding.ITL
            if each.e2e_s is not None:
                took_s = self.e2e_s(point, demand, each.input_tokens.mean, each.output_tokens.mean)
                if took_s > each.e2e_s:
                    return Binding.E2E
        return None

    def limit(self, demand: PoolDemand) -> Limit:
        """The most in flight within all limits, at the pessimistic edge."""
        most = max(1.0, self.max_in_flight)
        full = self.at(most, demand)
        binding = self.passed(full, demand)
        if binding is None:
            return Limit(full, self.max_in_flight_binding, is_held=True)
        one = self.at(1.0, demand)
        if self.passed(one, demand) is not None:
            return Limit(one, self.passed(one, demand) or binding, is_held=False)
        low, high = 1.0, most
        for _ in range(_STEPS):
            middle = (low + high) / 2
            found = self.passed(self.at(middle, demand), demand)
            if found is None:
                low = middle
            else:
                high, binding = middle, found
        return Limit(self.at(low, demand), binding, is_held=True)

    def needed_in_flight(self, point: Point, demand: PoolDemand, *, share: float = 1.0) -> float:
        """Requests of the whole pool in flight one moment in twenty, when its replicas are at `point`.

        Args:
            share: of the people who ask at the peak.
        """
        asked = demand if share == 1 else demand.scaled(share)
        return asked.peak_in_flight(
            lambda input_tokens, output_tokens: self.e2e_s(point, demand, input_tokens, output_tokens)
        )

    def converged(self, replicas: int, demand: PoolDemand, most: float) -> Point | None:
        """Where `replicas` replicas come to rest under the demand; None when they need more than `most` each."""
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
