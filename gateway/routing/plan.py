"""Where does a request go? The upstreams to try, in order; pure. Never more than policy allows.

First what can't be, each with a reason; then the order of the rest.

| an upstream is left out when | reason |
|---|---|
| policy blocks | policy's own |
| it is a cloud, and policy keeps the request on-prem | policy's own; `no-pool` when that leaves nobody |
| it is a cloud under a law that policy does not allow | `jurisdiction:NAME` |
| it does not serve the API | `surface:NAME` |
| its model can't do what is asked for | `capability-tools:NAME` |
| it may cost more than the route allows one request | `cost:NAME` |
| it may cost more than is left of a budget of the caller or his team | `budget:NAME` |

| an upstream goes behind the others when | reason |
|---|---|
| none of its servers would be asked, since they keep failing | `down:NAME` |
| the request can't fit its context | `context:NAME` |
| it has given bad answers in this conversation | `latched:NAME` |
| all its servers said that they have too much to do | `busy:NAME` |
| the shortest queue of its servers is too long | `queue:NAME` |
| no server has room in its KV cache for the request | `kv:NAME` |

In each of these groups the order is the route's. Nothing is left out for the second table: an estimate and a memory of
failures may be wrong, policy may not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ..policy.decision import Permit, Verdict
from ..settings import Capability, GatewaySettings, SurfaceName, UpstreamKind
from ..upstream.server_choice import State
from .demand import Demand


@dataclass(frozen=True, slots=True)
class Candidate:
    """An upstream that a route names."""

    name: str
    is_cloud: bool
    surfaces: frozenset[SurfaceName]
    capabilities: frozenset[Capability] | None
    """None when nobody said what its model can do; it is then tried."""
    max_model_len: int

    def cannot(self, demand: Demand) -> str | None:
        """Why it can't serve a request; None when it can."""
        if demand.family not in self.surfaces:
            return "surface"
        if demand.needs and self.capabilities is not None and not demand.needs <= self.capabilities:
            return f"capability-{min(demand.needs - self.capabilities)}"
        return None


@dataclass(frozen=True, slots=True)
class Candidates:
    """All upstreams of a route, in its order."""

    all: tuple[Candidate, ...]
    preferred: str | None
    """`pool` or `cloud`, where the route has both."""


class Bill(NamedTuple):
    """What a request may cost, in any unit of money."""

    costs: Mapping[str, int] = MappingProxyType({})
    """At most, by upstream; nothing is too dear that is not in it."""
    max_cost: int | None = None
    """The route's cap."""
    budget: int | None = None
    """What is reserved of the caller's budgets."""

    def over_budget(self, name: str) -> str | None:
        """Why an upstream is; None when it is not."""
        cost = self.costs.get(name, 0)
        if self.max_cost is not None and cost > self.max_cost:
            return "cost"
        return "budget" if self.budget is not None and cost > self.budget else None


FREE = Bill()


class Plan(NamedTuple):
    """What to try, and why in this order."""

    upstreams: tuple[str, ...]
    """Names, best first; empty when policy blocks, or when nothing that policy allows can serve the request."""
    reasons: tuple[str, ...]
    """Policy's, then ours."""
    is_too_expensive: bool = False
    """Nobody is left, and somebody would be if he were cheaper."""


def candidates_of(settings: GatewaySettings) -> Mapping[str, Candidates]:
    """The candidates of every route, by its model; made once."""
    known = {
        upstream.name: Candidate(
            upstream.name,
            upstream.kind is UpstreamKind.CLOUD,
            frozenset(upstream.surfaces),
            None if upstream.capabilities is None else frozenset(upstream.capabilities),
            upstream.max_model_len,
        )
        for upstream in settings.upstreams
    }
    return {
        route.model: Candidates(
            tuple(known[name] for name in route.upstreams),
            route.prefer if route.pool is not None and route.cloud is not None else None,
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
    bill: Bill = FREE,
    latched: Collection[str] = (),
) -> Plan:
    """The upstreams to try for a request.

    Args:
        clouds: names of those under a law that policy allows.
        state: of an upstream, by its name; asked only where it matters.
        bill: what it may cost where.
        latched: names of those that have given bad answers in this conversation.
    """
    if permit.verdict is Verdict.BLOCK:
        return Plan((), permit.reasons)
    reasons = list(permit.reasons)
    may_leave = permit.verdict.may_leave
    if may_leave and candidates.preferred is not None:
        reasons.append(f"preferred:{candidates.preferred}")
    usable: list[Candidate] = []
    has_pool = is_expensive = False
    for candidate in candidates.all:
        if not candidate.is_cloud:
            has_pool = True
        elif not may_leave:
            continue
        elif candidate.name not in clouds:
            reasons.append(f"jurisdiction:{candidate.name}")
            continue
        why = candidate.cannot(demand)
        if why is None and bill.costs and (why := bill.over_budget(candidate.name)) is not None:
            is_expensive = True
        if why is None:
            usable.append(candidate)
        else:
            reasons.append(f"{why}:{candidate.name}")
    if not (may_leave or has_pool):
        reasons.append("no-pool")
    if len(usable) > 1:
        # Weights such that one of them is more than all those after it together; the sort keeps the route's order.
        weights = {}
        for each in usable:
            if weight := _weight(each, demand, state(each.name), reasons, is_latched=each.name in latched):
                weights[each.name] = weight
        if weights:
            usable.sort(key=lambda candidate: weights.get(candidate.name, 0))
    return Plan(tuple([candidate.name for candidate in usable]), tuple(reasons), is_expensive and not usable)


def _weight(candidate: Candidate, demand: Demand, state: State, reasons: list[str], *, is_latched: bool) -> int:
    """What speaks against an upstream; put into words in `reasons`."""
    is_down, is_busy, has_long_queue, free_kv_tokens = state
    fits = demand.tokens_at_least <= candidate.max_model_len
    has_room = free_kv_tokens is None or demand.tokens <= free_kv_tokens
    if fits and has_room and not (is_down or is_latched or is_busy or has_long_queue):
        return 0
    against = [
        ("down", 16, is_down),
        ("context", 8, not fits),
        ("latched", 4, is_latched),
        ("busy", 2, is_busy),
        ("queue", 1, has_long_queue),
        ("kv", 1, not (has_room or has_long_queue)),
    ]
    reasons += [f"{word}:{candidate.name}" for word, _, is_so in against if is_so]
    return sum(weight for _, weight, is_so in against if is_so)
