"""Selects the upstreams to try for a request, and their order. Pure. Policy is an upper bound.

| an upstream is omitted if | reason |
|---|---|
| policy blocks the request | of policy |
| it is a cloud, and policy keeps the request on-prem | of policy; `no-pool` if no upstream is left |
| it is a cloud in a jurisdiction that policy does not allow | `jurisdiction:NAME` |
| it does not serve the API | `surface:NAME` |
| its model lacks a capability | `capability-tools:NAME` |
| it may cost more than the route's cap | `cost:NAME` |
| it may cost more than the rest of a budget of the principal or its team | `budget:NAME` |

| an upstream is tried after the others if | reason |
|---|---|
| the circuit breakers of all its servers are open | `down:NAME` |
| the request cannot fit its context | `context:NAME` |
| it gave faulty answers in this conversation | `latched:NAME` |
| all its servers reported overload | `busy:NAME` |
| the shortest queue of its servers is too long | `queue:NAME` |
| no server has enough free KV cache | `kv:NAME` |

Within each group, the order is the route's. The second table omits no upstream, because estimates may be wrong.
Upstreams that share their conversations by weight (`groups` of a route) have one place in the route's order; the
conversation decides which of them is first, with the reason `weighted:NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ..adapters import unserved_surfaces
from ..policy.decision import Permit, Verdict
from ..settings import Capability, GatewaySettings, SurfaceName, UpstreamKind
from ..upstream.server_choice import State
from .demand import Demand
from .weights import weighted_order


@dataclass(frozen=True, slots=True)
class Candidate:
    """An upstream of a route."""

    name: str
    is_cloud: bool
    surfaces: frozenset[SurfaceName]
    capabilities: frozenset[Capability] | None
    """None if unknown; the upstream is then tried."""
    max_model_len: int
    unserved: frozenset[str] = frozenset()
    """Names of surfaces that it lacks, though it serves others of their family."""

    def exclusion_reason(self, demand: Demand) -> str | None:
        """Return the reason why it cannot serve a request; None if it can."""
        if demand.family not in self.surfaces or demand.surface in self.unserved:
            return "surface"
        if demand.needs and self.capabilities is not None and not demand.needs <= self.capabilities:
            return f"capability-{min(demand.needs - self.capabilities)}"
        return None


@dataclass(frozen=True, slots=True)
class Candidates:
    """All upstreams of a route, in its order."""

    all: tuple[Candidate, ...]
    preferred: str | None
    """`pool` or `cloud`; None unless the route has both."""
    groups: tuple[Mapping[str, int], ...] = ()
    """Weights by name, of upstreams with one place in the order."""

    def ordered(self, key: str) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
        """Return the candidates in the order for a conversation, and the first upstream of each group."""
        if not self.groups:
            return self.all, ()
        orders = [weighted_order(group, key=key) for group in self.groups]
        group_of = {name: order for order in orders for name in order}
        names = (name for each in self.all for name in group_of.get(each.name, (each.name,)))
        by_name = {each.name: each for each in self.all}
        return tuple(by_name[name] for name in dict.fromkeys(names)), tuple(order[0] for order in orders)

    def without(self, names: Collection[str]) -> Candidates:
        """Return the other candidates."""
        kept = tuple(each for each in self.all if each.name not in names)
        weights = [{name: weight for name, weight in group.items() if name not in names} for group in self.groups]
        return Candidates(kept, self.preferred, tuple(group for group in weights if len(group) > 1))


class CostLimits(NamedTuple):
    """Limits of a request's cost, in nano."""

    costs: Mapping[str, int] = MappingProxyType({})
    """Highest cost by upstream; an upstream that is absent has no limit."""
    max_cost: int | None = None
    """The route's cap."""
    budget: int | None = None
    """Cost reserved from the principal's budgets."""

    def over_budget(self, name: str) -> str | None:
        """Return the limit that an upstream may exceed, `cost` or `budget`; None if it cannot."""
        cost = self.costs.get(name, 0)
        if self.max_cost is not None and cost > self.max_cost:
            return "cost"
        return "budget" if self.budget is not None and cost > self.budget else None


NO_COST_LIMITS = CostLimits()


class Plan(NamedTuple):
    """Upstreams to try."""

    upstreams: tuple[str, ...]
    """Names, best first; empty if policy blocks, or if no upstream that policy allows can serve the request."""
    reasons: tuple[str, ...]
    """Reason codes of policy, then of the tables above."""
    is_too_expensive: bool = False
    """Whether `upstreams` is empty only because of costs."""


def candidates_of(settings: GatewaySettings) -> Mapping[str, Candidates]:
    """Return the candidates by model name."""
    known = {
        upstream.name: Candidate(
            upstream.name,
            upstream.kind is UpstreamKind.CLOUD,
            frozenset(upstream.surfaces),
            None if upstream.capabilities is None else frozenset(upstream.capabilities),
            upstream.max_model_len,
            unserved_surfaces(upstream),
        )
        for upstream in settings.upstreams
    }
    return {
        route.model: Candidates(
            tuple(known[name] for name in route.upstreams),
            route.prefer if route.pool is not None and route.cloud is not None else None,
            tuple({each.name: each.weight for each in group} for group in route.groups),
        )
        for route in settings.routes
    }


def plan_route(
    permit: Permit,
    candidates: Candidates,
    demand: Demand,
    *,
    clouds: Collection[str],
    state: Callable[[str], State],
    bill: CostLimits = NO_COST_LIMITS,
    deprioritized: Collection[str] = (),
    key: str = "",
) -> Plan:
    """Return the upstreams to try for a request.

    Args:
        clouds: names of clouds in jurisdictions that policy allows.
        state: returns the state of an upstream; called only if several upstreams are left.
        bill: limits of its cost.
        deprioritized: names of upstreams that gave faulty answers in this conversation.
        key: of the conversation, which decides by weight.
    """
    if permit.verdict is Verdict.BLOCK:
        return Plan((), permit.reasons)
    reasons = list(permit.reasons)
    may_leave = permit.verdict.may_leave
    if may_leave and candidates.preferred is not None:
        reasons.append(f"preferred:{candidates.preferred}")
    everything, chosen = candidates.ordered(key)
    usable: list[Candidate] = []
    has_pool = is_expensive = False
    for candidate in everything:
        if not candidate.is_cloud:
            has_pool = True
        elif not may_leave:
            continue
        elif candidate.name not in clouds:
            reasons.append(f"jurisdiction:{candidate.name}")
            continue
        why = candidate.exclusion_reason(demand)
        if why is None and bill.costs and (why := bill.over_budget(candidate.name)) is not None:
            is_expensive = True
        if why is None:
            usable.append(candidate)
        else:
            reasons.append(f"{why}:{candidate.name}")
    if not (may_leave or has_pool):
        reasons.append("no-pool")
    if chosen:
        reasons += [f"weighted:{each.name}" for each in usable if each.name in chosen]
    if len(usable) > 1:
        # Each weight is at least the sum of the smaller ones, and the sort keeps the route's order.
        weights = {}
        for each in usable:
            if weight := _weight(each, demand, state(each.name), reasons, is_deprioritized=each.name in deprioritized):
                weights[each.name] = weight
        if weights:
            usable.sort(key=lambda candidate: weights.get(candidate.name, 0))
    return Plan(tuple([candidate.name for candidate in usable]), tuple(reasons), is_expensive and not usable)


def _weight(candidate: Candidate, demand: Demand, state: State, reasons: list[str], *, is_deprioritized: bool) -> int:
    """Return the weight of the reasons to try an upstream later; append them to `reasons`."""
    is_down, is_busy, has_long_queue, free_kv_tokens = state
    fits = demand.tokens_at_least <= candidate.max_model_len
    has_room = free_kv_tokens is None or demand.tokens <= free_kv_tokens
    if fits and has_room and not (is_down or is_deprioritized or is_busy or has_long_queue):
        return 0
    against = [
        ("down", 16, is_down),
        ("context", 8, not fits),
        ("latched", 4, is_deprioritized),
        ("busy", 2, is_busy),
        ("queue", 1, has_long_queue),
        ("kv", 1, not (has_room or has_long_queue)),
    ]
    reasons += [f"{word}:{candidate.name}" for word, _, is_so in against if is_so]
    return sum(weight for _, weight, is_so in against if is_so)
