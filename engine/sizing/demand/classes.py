"""The demand of one workload class at its peak: users at work, calls, lengths, latency limits. Pure.

ClassDemand.of(workload_class, growth=1.2).in_flight(e2e_s=8.0)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ...spec.workload import RuleOfThumb, WorkloadClass, WorkloadKind
from .lengths import Lengths


@dataclass(frozen=True, slots=True)
class _Habit:
    """Defaults of a workload kind for fields that site.yaml omits. Guesses of 2026-11-21 unless a source is given."""

    requests_per_user_hour: float
    calls_per_request: float
    input_tokens: int
    input_spread: float
    """95th percentile / mean."""
    output_tokens: int
    output_spread: float


HABITS = {
    WorkloadKind.CHAT: _Habit(12, 1, 1500, 2.5, 300, 2.5),
    WorkloadKind.RAG: _Habit(8, 1, 6000, 2.0, 400, 2.0),
    WorkloadKind.AGENTS: _Habit(4, 12, 12000, 2.5, 500, 3.0),
    WorkloadKind.VOICE: _Habit(120, 1, 800, 1.5, 60, 2.0),
    WorkloadKind.BATCH: _Habit(60, 1, 4000, 2.0, 500, 2.0),
}


@dataclass(frozen=True, slots=True)
class _Thumb:
    """A published rule of thumb, with the percentages and factors of its authors."""

    formula: str
    online_percent: float
    in_flight_percent: float | None
    requests_per_user_hour: float | None
    peak_factor: float


# Source: reference/sizing.md, rows F10 and F11, read 2026-11-21.
RULES_OF_THUMB = {
    RuleOfThumb.SHARE_OF_A_SHARE: _Thumb("users x 15 % online x 5 % in flight x 3", 15.0, 5.0, None, 3.0),
    RuleOfThumb.EIGHT_IN_FLIGHT: _Thumb("users x 8 % in flight", 100.0, 8.0, None, 1.0),
    RuleOfThumb.WORKING_DAY: _Thumb("150 requests of each user in 8 hours, x 2", 100.0, None, 150 / 8, 2.0),
}


@dataclass(frozen=True, slots=True)
class ClassDemand:
    """Demand of one workload class at its peak.

    Exactly one of `calls_per_user_s`, `think_time_s` and `in_flight_share` is set.
    """

    name: str
    kind: WorkloadKind
    active_users: float
    """Users at work, including growth."""
    peak_factor: float
    input_tokens: Lengths
    output_tokens: Lengths
    prefix_hit_share: float
    ttft_s: float | None
    itl_s: float | None
    e2e_s: float | None
    calls_per_user_s: float | None = None
    think_time_s: float | None = None
    in_flight_share: float | None = None
    rule_of_thumb: str | None = None
    """Name of the published rule that gives these values; None if site.yaml gives them."""

    @classmethod
    def of(cls, workload: WorkloadClass, *, growth: float = 1.0) -> ClassDemand:
        """Return the demand of a class of site.yaml.

        Args:
            growth: factor on today's users; 1.0 is today.
        """
        habit = HABITS[workload.kind]
        thumb = RULES_OF_THUMB[workload.rule_of_thumb] if workload.rule_of_thumb else None
        share = thumb.in_flight_percent if thumb else workload.in_flight_percent
        think_s = None if thumb else workload.think_time_s
        per_hour = thumb.requests_per_user_hour if thumb else workload.requests_per_user_hour
        if share is None and think_s is None:
            per_hour = per_hour or habit.requests_per_user_hour
        calls = workload.calls_per_request or habit.calls_per_request
        input_tokens = workload.input_tokens or habit.input_tokens
        output_tokens = workload.output_tokens or habit.output_tokens
        return cls(
            name=workload.name,
            kind=workload.kind,
            active_users=workload.users * (thumb.online_percent if thumb else workload.online_percent) / 100 * growth,
            peak_factor=thumb.peak_factor if thumb else workload.peak_factor,
            input_tokens=Lengths(input_tokens, workload.input_tokens_p95 or input_tokens * habit.input_spread),
            output_tokens=Lengths(output_tokens, workload.output_tokens_p95 or output_tokens * habit.output_spread),
            prefix_hit_share=workload.prefix_hit_percent / 100,
            ttft_s=_seconds(workload.ttft_p95_ms),
            itl_s=_seconds(workload.itl_p95_ms),
            e2e_s=_seconds(workload.e2e_p95_ms),
            calls_per_user_s=None if per_hour is None else per_hour * calls / 3600,
            think_time_s=think_s,
            in_flight_share=None if share is None else share / 100,
            rule_of_thumb=workload.rule_of_thumb.value if workload.rule_of_thumb else None,
        )

    def rate_per_s(self, e2e_s: float) -> float:
        """Return the model calls per second at the peak, if one call takes `e2e_s` seconds."""
        if self.calls_per_user_s is not None:
            return self.active_users * self.calls_per_user_s * self.peak_factor
        if self.think_time_s is not None:
            return self.active_users * self.peak_factor / (self.think_time_s + e2e_s)
        return self.in_flight(e2e_s) / e2e_s

    def in_flight(self, e2e_s: float) -> float:
        """Return the calls in flight at the peak, if one call takes `e2e_s` seconds.

        Little's law (rate x duration), unless `in_flight_share` is set.
        """
        if self.in_flight_share is not None:
            return self.active_users * self.in_flight_share * self.peak_factor
        return self.rate_per_s(e2e_s) * e2e_s

    @property
    def max_in_flight(self) -> float:
        """Upper bound of calls in flight: one per user, because users wait for their answer; inf if a rate is set."""
        return inf if self.calls_per_user_s is not None else self.active_users * self.peak_factor

    def variance(self, e2e_s: float) -> float:
        """Return the variance of the calls in flight: Poisson if a rate is set, else binomial.

        Palm's theorem: with Poisson arrivals the number in flight is Poisson for every distribution of durations.
        """
        mean = self.in_flight(e2e_s)
        return mean * (1 - min(1.0, mean / self.max_in_flight)) if mean else 0.0


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
