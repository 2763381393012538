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
    """How long a call of these lengths takes, from question to last token, in seconds."""

    def __call__(self, input_tokens: float, output_tokens: float) -> float: ...


@dataclass(frozen=True, slots=True)
class PoolDemand:
    """All classes of a pool together: lengths are means over calls, limits the strictest."""

    classes: tuple[ClassDemand, ...]

    @classmethod
    def of(cls, workload: Sequence[WorkloadClass], *, growth: float = 1.0) -> PoolDemand | None:
        """The demand of the classes of one pool; None without any."""
        return cls(tuple(ClassDemand.of(each, growth=growth) for each in workload)) if workload else None

    def _mean(self, values: Sequence[float]) -> float:
        # Weighted by calls; at 10 s each, where the number of calls depends on it.
        weights = [each.rate_per_s(10.0) for each in self.classes]
        return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)

    @property
    def input_tokens(self) -> float:
        """Tokens of a call, on average."""
        return self._mean([each.input_tokens.mean for each in self.classes])

    @property
    def output_tokens(self) -> float:
        """Tokens of an answer, on average."""
        return self._mean([each.output_tokens.mean for each in self.classes])

    @property
    def prefix_hit_share(self) -> float:
        """Of all input tokens."""
        tokens = self._mean([each.input_tokens.mean * each.prefix_hit_share for each in self.classes])
        return tokens / self.input_tokens

    @property
    def longest(self) -> float:
        """Tokens of prompt and answer that no more than about one call in a hundred of any class passes."""
        return max(each.input_tokens.p99 + each.output_tokens.p99 for each in self.classes)

    @property
    def ttft_s(self) -> float | None:
        """Strictest limit."""
        return min((each.ttft_s for each in self.classes if each.ttft_s is not None), default=None)

    @property
    def itl_s(self) -> float | None:
        """Strictest limit."""
        return min((each.itl_s for each in self.classes if each.itl_s is not None), default=None)

    @property
    def e2e_s(self) -> float | None:
        """Strictest limit."""
        return min((each.e2e_s for each in self.classes if each.e2e_s is not None), default=None)

    def rate_per_s(self, timing: Timing) -> float:
        """Calls a second at the peak."""
        return sum(each.rate_per_s(timing(each.input_tokens.mean, each.output_tokens.mean)) for each in self.classes)

    def in_flight(self, timing: Timing) -> float:
        """Calls in flight at the peak, on average."""
        return sum(each.in_flight(timing(each.input_tokens.mean, each.output_tokens.mean)) for each in self.classes)

    def deviation(self, timing: Timing) -> float:
        """Standard deviation of the calls in flight at the peak; classes ask independently of each other."""
        return sqrt(
            sum(each.variance(timing(each.input_tokens.mean, each.output_tokens.mean)) for each in self.classes)
        )

    def peak_in_flight(self, timing: Timing) -> float:
        """Calls in flight at the peak that are passed one moment in twenty: mean and 1.645 deviations."""
        most = sum(each.most for each in self.classes)
        return min(most, self.in_flight(timing) + Z95 * self.deviation(timing))

    def scaled(self, share: float) -> PoolDemand:
        """The demand of so large a share of the people."""
        return PoolDemand(tuple(replace(each, at_work=each.at_work * share) for each in self.classes))
