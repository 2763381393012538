"""From people to requests in flight: who is at work, how often they ask, how long their answers take. Pure.

In flight is Little's law, rate times time from question to last token, and not a share of the users: a slow server
has more of the same people waiting. So demand is a function of that time, and whoever sizes a pool solves for both.
Lengths are lognormal, as published traces are, given by mean and 95th percentile.

    demand = PoolDemand.of(classes, growth=1.2)
    demand.in_flight(e2e_s=8.0), demand.prompt, demand.answer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import erfc, exp, inf, log, sqrt
from typing import Protocol

from ...spec.workload import Reserve, RuleOfThumb, WorkloadClass, WorkloadKind

_Z95, _Z99 = 1.6449, 2.3263  # standard normal quantiles
MOST_SPREAD = 3.8
"""A lognormal's 95th percentile is at most exp(1.645^2 / 2) = 3.87 times its mean."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long prompts or answers are, in tokens: lognormal."""

    mean: float
    p95: float

    @property
    def p99(self) -> float:
        """One in a hundred is longer."""
        sigma = self._sigma
        return self.mean * exp(_Z99 * sigma - sigma * sigma / 2)

    def share_above(self, tokens: float) -> float:
        """How many are longer than that, from 0 to 1."""
        sigma = self._sigma
        if tokens <= 0 or not sigma:
            return float(self.mean > tokens)
        return erfc((log(tokens / self.mean) + sigma * sigma / 2) / sigma / sqrt(2)) / 2

    @property
    def _sigma(self) -> float:
        """Standard deviation of the logarithm."""
        ratio = min(max(self.p95 / self.mean, 1.0), MOST_SPREAD)
        # p95 / mean = exp(z sigma - sigma^2 / 2): the smaller root.
        return _Z95 - sqrt(max(0.0, _Z95 * _Z95 - 2 * log(ratio)))


@dataclass(frozen=True, slots=True)
class _Habit:
    """What a kind of work is like where site.yaml does not say. Our guesses (2026-11-21), but for what is named."""

    requests_per_user_hour: float
    calls_per_request: float
    input_tokens: int
    input_spread: float
    """95th percentile over mean."""
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
    """A published rule: percents and factors as its authors have them."""

    says: str
    online_percent: float
    in_flight_percent: float | None
    requests_per_user_hour: float | None
    peak_factor: float


# From the guides that the project began with; reference/sizing.md rows F10 and F11, read 2026-11-21.
RULES_OF_THUMB = {
    RuleOfThumb.SHARE_OF_A_SHARE: _Thumb("users x 15 % online x 5 % in flight x 3", 15.0, 5.0, None, 3.0),
    RuleOfThumb.EIGHT_IN_FLIGHT: _Thumb("users x 8 % in flight", 100.0, 8.0, None, 1.0),
    RuleOfThumb.WORKING_DAY: _Thumb("150 requests of each user in 8 hours, x 2", 100.0, None, 150 / 8, 2.0),
}


@dataclass(frozen=True, slots=True)
class ClassDemand:
    """What one workload class asks at its busiest; exactly one of rate, thinking users and share is given."""

    name: str
    kind: WorkloadKind
    at_work: float
    """Users at work, growth included."""
    peak_factor: float
    prompt: Lengths
    answer: Lengths
    prefix_hit_share: float
    ttft_s: float | None
    itl_s: float | None
    e2e_s: float | None
    calls_per_user_s: float | None = None
    think_time_s: float | None = None
    in_flight_share: float | None = None
    rule_of_thumb: str | None = None
    """The published rule behind these, by its name; None where site.yaml says them itself."""

    @classmethod
    def of(cls, workload: WorkloadClass, *, growth: float = 1.0) -> ClassDemand:
        """What a class of site.yaml means.

        Args:
            growth: how much more than today.
        """
        habit = HABITS[workload.kind]
        thumb = RULES_OF_THUMB[workload.rule_of_thumb] if workload.rule_of_thumb else None
        share = thumb.in_flight_percent if thumb else workload.in_flight_percent
        think_s = None if thumb else workload.think_time_s
        per_hour = thumb.requests_per_user_hour if thumb else workload.requests_per_user_hour
        if share is None and think_s is None:
            per_hour = per_hour or habit.requests_per_user_hour
        calls = workload.calls_per_request or habit.calls_per_request
        prompt = workload.input_tokens or habit.input_tokens
        answer = workload.output_tokens or habit.output_tokens
        return cls(
            name=workload.name,
            kind=workload.kind,
            at_work=workload.users * (thumb.online_percent if thumb else workload.online_percent) / 100 * growth,
            peak_factor=thumb.peak_factor if thumb else workload.peak_factor,
            prompt=Lengths(prompt, workload.input_tokens_p95 or prompt * habit.input_spread),
            answer=Lengths(answer, workload.output_tokens_p95 or answer * habit.output_spread),
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
        """Model calls a second at the peak, when one takes `e2e_s`."""
        if self.calls_per_user_s is not None:
            return self.at_work * self.calls_per_user_s * self.peak_factor
        if self.think_time_s is not None:
            return self.at_work * self.peak_factor / (self.think_time_s + e2e_s)
        return self.in_flight(e2e_s) / e2e_s

    def in_flight(self, e2e_s: float) -> float:
        """Calls in flight at the peak, when one takes `e2e_s`: Little's law, but where a share was given."""
        if self.in_flight_share is not None:
            return self.at_work * self.in_flight_share * self.peak_factor
        return self.rate_per_s(e2e_s) * e2e_s

    @property
    def most(self) -> float:
        """Calls that can be in flight at all: of people who wait for their answers, one each."""
        return inf if self.calls_per_user_s is not None else self.at_work * self.peak_factor

    def variance(self, e2e_s: float) -> float:
        """Of the calls in flight: Poisson where they come at a rate, binomial where people wait for their answers.

        Palm's theorem: however long the calls take, the number in flight of Poisson arrivals is Poisson.
        """
        mean = self.in_flight(e2e_s)
        return mean * (1 - min(1.0, mean / self.most)) if mean else 0.0


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


class Timing(Protocol):
    """How long a call of these lengths takes, from question to last token, in seconds."""

    def __call__(self, prompt: float, answer: float) -> float: ...


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
    def prompt(self) -> float:
        """Tokens of a call, on average."""
        return self._mean([each.prompt.mean for each in self.classes])

    @property
    def answer(self) -> float:
        """Tokens of an answer, on average."""
        return self._mean([each.answer.mean for each in self.classes])

    @property
    def prefix_hit_share(self) -> float:
        """Of all input tokens."""
        tokens = self._mean([each.prompt.mean * each.prefix_hit_share for each in self.classes])
        return tokens / self.prompt

    @property
    def longest(self) -> float:
        """Tokens of prompt and answer that no more than about one call in a hundred of any class passes."""
        return max(each.prompt.p99 + each.answer.p99 for each in self.classes)

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
        return sum(each.rate_per_s(timing(each.prompt.mean, each.answer.mean)) for each in self.classes)

    def in_flight(self, timing: Timing) -> float:
        """Calls in flight at the peak, on average."""
        return sum(each.in_flight(timing(each.prompt.mean, each.answer.mean)) for each in self.classes)

    def deviation(self, timing: Timing) -> float:
        """Standard deviation of the calls in flight at the peak; classes ask independently of each other."""
        return sqrt(sum(each.variance(timing(each.prompt.mean, each.answer.mean)) for each in self.classes))

    def peak_in_flight(self, timing: Timing) -> float:
        """Calls in flight at the peak that are passed one moment in twenty: mean and 1.645 deviations."""
        most = sum(each.most for each in self.classes)
        return min(most, self.in_flight(timing) + _Z95 * self.deviation(timing))

    def scaled(self, share: float) -> PoolDemand:
        """The demand of so large a share of the people."""
        return PoolDemand(tuple(replace(each, at_work=each.at_work * share) for each in self.classes))


def growth_factor(reserve: Reserve) -> float:
    """How much more will be asked at the end of the years that are sized for."""
    return float((1 + reserve.growth_percent_per_year / 100) ** reserve.growth_years)


def replicas_with_reserve(needed: int, reserve: Reserve, *, nodes: int, replicas_per_node: int) -> int | None:
    """The fewest replicas that still are `needed` when the nodes that may go are away, and the spare ones besides.

    A node takes with it the replicas on it; placement spreads them evenly. Nothing is added twice: spare replicas
    cover a node's, as far as they go.

    Args:
        nodes: of the pool.
        replicas_per_node: that fit on one; 0 when a replica takes several nodes.

    Returns:
        None when so many nodes may go that none is left.
    """
    away = reserve.failed_nodes + reserve.maintenance_nodes
    least = needed + reserve.spare_replicas
    if not away:
        return least
    if away >= nodes:
        return None
    # One more replica leaves no fewer, and nodes times as many leave enough on the one node that stays at least.
    enough = least + nodes * (needed + 1)
    while least < enough:
        middle = (least + enough) // 2
        is_enough = middle - lost(middle, nodes, away, replicas_per_node) >= needed
        least, enough = (least, middle) if is_enough else (middle + 1, enough)
    return least


def lost(replicas: int, nodes: int, away: int, replicas_per_node: int) -> int:
    """Replicas that go with the `away` fullest nodes, when they are spread evenly."""
    if replicas_per_node == 0:  # each replica lies on several nodes: a node takes at most one
        return min(replicas, away)
    full, rest = divmod(replicas, nodes)
    return min(replicas, away * full + min(away, rest))
