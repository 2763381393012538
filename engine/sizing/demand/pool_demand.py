"""The demand of all workload classes of one pool. Pure.

demand = PoolDemand.of(classes, growth=1.2)
demand.in_flight(timing), demand.prompt, demand.answer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Protocol

from ...spec.workload import WorkloadClass
from .classes import ClassDemand
from .lengths import Z95


class Timing(Protocol):
    """Seconds from the request to the last token, for a call of these lengths in tokens."""

    def __call__(self, input_tokens: float, output_tokens: float) -> float: ...


@dataclass(frozen=True, slots=True)
class PoolDemand:
    """Demand of all classes of a pool: lengths are means over calls, limits are the strictest."""

    classes: tuple[ClassDemand, ...]

    @classmethod
    def of(cls, workload: Sequence[WorkloadClass], *, growth: float = 1.0) -> PoolDemand | None:
        """Return the demand of the classes of one pool; None without classes."""
        return cls(tuple(ClassDemand.of(each, growth=growth) for each in workload)) if workload else None

    def _mean(self, values: Sequence[float]) -> float:
        # Weighted by calls per second. If the rate depends on the duration, calls of 10 s are assumed.
        weights = [each.rate_per_s(10.0) for each in self.classes]
        return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)

    @property
    def input_tokens(self) -> float:
        """Mean tokens of a prompt."""
        return self._mean([each.input_tokens.mean for each in self.classes])

    @property
    def output_tokens(self) -> float:
        """Mean tokens of an answer."""
        return self._mean([each.output_tokens.mean for each in self.classes])

    @property
    def held_tokens(self) -> float:
        """Mean tokens of prompt and answer of a running request, at a random time."""
        weights = [each.rate_per_s(10.0) * each.output_tokens.mean for each in self.classes]
        held = [each.input_tokens.mean + each.output_tokens.held_mean for each in self.classes]
        return sum(tokens * weight for tokens, weight in zip(held, weights, strict=True)) / sum(weights)

    @property
    def prefix_hit_share(self) -> float:
        """Fraction of all input tokens that the prefix cache contains, 0 to 1."""
        tokens = self._mean([each.input_tokens.mean * each.prefix_hit_share for each in self.classes])
        return tokens / self.input_tokens

    @property
    def model_len_p99(self) -> float:
        """Tokens of prompt and answer that at most about 1 % of the calls of any class exceed."""
        return max(each.input_tokens.p99 + each.output_tokens.p99 for each in self.classes)

    @property
    def ttft_s(self) -> float | None:
        """Strictest limit of the time to first token, in seconds."""
        return min((each.ttft_s for each in self.classes if each.ttft_s is not None), default=None)

    @property
    def itl_s(self) -> float | None:
        """Strictest limit of the time between tokens, in seconds."""
        return min((each.itl_s for each in self.classes if each.itl_s is not None), default=None)

    @property
    def e2e_s(self) -> float | None:
        """Strictest limit of the time to the last token, in seconds."""
        return min((each.e2e_s for each in self.classes if each.e2e_s is not None), default=None)

    def rate_per_s(self, timing: Timing) -> float:
        """Return the calls per second at the peak."""
        return sum(each.rate_per_s(timing(each.input_tokens.mean, each.output_tokens.mean)) for each in self.classes)

    def in_flight(self, timing: Timing) -> float:
        """Return the mean number of calls in flight at the peak."""
        return sum(each.in_flight(timing(each.input_tokens.mean, each.output_tokens.mean)) for each in self.classes)

    def deviation(self, timing: Timing) -> float:
        """Return the standard deviation of the calls in flight at the peak; classes are independent."""
        return sqrt(
            sum(each.variance(timing(each.input_tokens.mean, each.output_tokens.mean)) for each in self.classes)
        )

    def peak_in_flight(self, timing: Timing) -> float:
        """Return the 95th percentile of the calls in flight at the peak: mean + 1.645 standard deviations."""
        max_in_flight = sum(each.max_in_flight for each in self.classes)
        return min(max_in_flight, self.in_flight(timing) + Z95 * self.deviation(timing))

    def scaled(self, share: float) -> PoolDemand:
        """Return the demand of `share` times the users."""
        return PoolDemand(tuple(replace(each, active_users=each.active_users * share) for each in self.classes))
