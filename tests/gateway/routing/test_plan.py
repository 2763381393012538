"""The plan: never more than policy allows, nothing that can't serve the request, the rest in an order with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.domain.obstacles import Obstacle
from sovctl.gateway.policy.decision import Permit, Verdict
from sovctl.gateway.routing.demand import Demand, demand_of
from sovctl.gateway.routing.plan import NO_COST_LIMITS, Candidate, Candidates, CostLimits, plan_route
from sovctl.gateway.settings import Capability, SurfaceName
from sovctl.gateway.upstream.server_choice import State

LEAVE, STAY = Permit(Verdict.LEAVE, ("clean",)), Permit(Verdict.STAY, ("obstacle:image",))


def candidate(name: str, *, is_cloud: bool = False, can: set[Capability] | None = None, room: int = 512) -> Candidate:
    return Candidate(name, is_cloud, frozenset({SurfaceName.CHAT}), None if can is None else frozenset(can), room)


CHAT, BIG, CLOUD = candidate("chat"), candidate("big", room=9000), candidate("cloud", is_cloud=True, room=9000)


def demand(tokens: int = 10, needs: set[Capability] | None = None, family: SurfaceName = SurfaceName.CHAT) -> Demand:
    return Demand(family, frozenset(needs or ()), tokens, tokens)


def plan(
    permit: Permit, wanted: Demand, *all_: Candidate, states: Mapping[str, State] | None = None, **options: Any
) -> tuple[list[str], list[str]]:
    preferred = options.pop("preferred", None)
    clouds = options.pop("clouds", {"cloud"})
    made = plan_route(
        permit,
        Candidates(all_, preferred),
        wanted,
        clouds=clouds,
        state=lambda name: (states or {}).get(name, State()),
        **options,
    )
    return list(made.upstreams), list(made.reasons)


@pytest.mark.parametrize(
    ("permit", "wanted", "upstreams", "reasons"),
    [
        (LEAVE, demand(), ["cloud", "chat", "big"], ["clean"]),
        (STAY, demand(), ["chat", "big"], ["obstacle:image"]),
        (Permit(Verdict.BLOCK, ("entity-type-blocked:SECRET",)), demand(), [], ["entity-type-blocked:SECRET"]),
        (LEAVE, demand(600), ["cloud", "big", "chat"], ["clean", "context:chat"]),
        (
            LEAVE,
            demand(family=SurfaceName.RERANK),
            [],
            ["clean", "surface:cloud", "surface:chat", "surface:big"],
        ),
    ],
)
def test_plan_combines_permission_and_capability(
    permit: Permit, wanted: Demand, upstreams: list[str], reasons: list[str]
) -> None:
    assert plan(permit, wanted, CLOUD, CHAT, BIG) == (upstreams, reasons)


def test_upstream_without_capability_is_omitted() -> None:
    able, unable = candidate("able", can={Capability.TOOLS}), candidate("unable", can=set())
    wanted = demand(needs={Capability.TOOLS})
    assert plan(LEAVE, wanted, unable, able) == (["able"], ["clean", "capability-tools:unable"])
    assert plan(LEAVE, wanted, unable, candidate("unknown"))[0] == ["unknown"]
    assert plan(LEAVE, demand(), unable, able)[0] == ["unable", "able"]


def test_a_cloud_under_a_law_that_policy_does_not_allow_is_none() -> None:
    assert plan(LEAVE, demand(), CLOUD, CHAT, clouds=set()) == (["chat"], ["clean", "jurisdiction:cloud"])
    assert plan(LEAVE, demand(), CLOUD, clouds=set()) == ([], ["clean", "jurisdiction:cloud"])


def test_on_prem_request_without_pool_has_no_upstream() -> None:
    assert plan(STAY, demand(), CLOUD) == ([], ["obstacle:image", "no-pool"])


@pytest.mark.parametrize(
    ("states", "upstreams", "reason"),
    [
        ({"cloud": State(is_down=True)}, ["chat", "big", "cloud"], "down:cloud"),
        ({"cloud": State(is_busy=True)}, ["chat", "big", "cloud"], "busy:cloud"),
        ({"cloud": State(has_long_queue=True)}, ["chat", "big", "cloud"], "queue:cloud"),
        ({"chat": State(free_kv_tokens=9)}, ["cloud", "big", "chat"], "kv:chat"),
        ({"chat": State(free_kv_tokens=10)}, ["cloud", "chat", "big"], "clean"),
        # What is broken goes behind what is full, that behind what waits.
        (
            {"cloud": State(is_down=True), "chat": State(is_busy=True), "big": State(has_long_queue=True)},
            ["big", "chat", "cloud"],
            "queue:big",
        ),
    ],
)
def test_deprioritized_upstream_is_tried_last(states: dict[str, State], upstreams: list[str], reason: str) -> None:
    got, reasons = plan(LEAVE, demand(), CLOUD, CHAT, BIG, states=states)
    assert got == upstreams
    assert reason in reasons


@pytest.mark.parametrize(
    ("bill", "upstreams", "reasons"),
    [
        (NO_COST_LIMITS, ["cloud", "chat", "big"], ["clean"]),
        (CostLimits({"cloud": 50, "big": 9}), ["cloud", "chat", "big"], ["clean"]),
        (CostLimits({"cloud": 50, "big": 9}, max_cost=50), ["cloud", "chat", "big"], ["clean"]),
        (CostLimits({"cloud": 50, "big": 9}, max_cost=49), ["chat", "big"], ["clean", "cost:cloud"]),
        (CostLimits({"cloud": 50, "big": 9}, budget=8), ["chat"], ["clean", "budget:cloud", "budget:big"]),
        (CostLimits({"cloud": 50, "big": 9}, max_cost=20, budget=8), ["chat"], ["clean", "cost:cloud", "budget:big"]),
    ],
)
def test_too_expensive_upstream_is_omitted(bill: CostLimits, upstreams: list[str], reasons: list[str]) -> None:
    assert plan(LEAVE, demand(), CLOUD, CHAT, BIG, bill=bill) == (upstreams, reasons)


def test_plan_reports_that_only_cost_prevents_it() -> None:
    dear = CostLimits({"cloud": 5, "chat": 5}, max_cost=4)
    for all_, wanted, is_too_expensive in (
        ((CLOUD, CHAT), demand(), True),
        ((CLOUD, CHAT, BIG), demand(), False),
        ((CLOUD, CHAT), demand(family=SurfaceName.RERANK), False),
        ((), demand(), False),
    ):
        made = plan_route(LEAVE, Candidates(all_, None), wanted, clouds={"cloud"}, state=lambda _: State(), bill=dear)
        assert made.is_too_expensive is is_too_expensive


_CANDIDATES = st.lists(
    st.builds(
        Candidate,
        st.sampled_from(["a", "b", "c", "d"]),
        st.booleans(),
        st.frozensets(st.sampled_from([SurfaceName.CHAT, SurfaceName.RERANK])),
        st.none() | st.frozensets(st.sampled_from(list(Capability))),
        st.integers(16, 10_000),
    ),
    max_size=4,
    unique_by=lambda candidate: candidate.name,
)
_DEMANDS = st.builds(
    Demand,
    st.sampled_from([SurfaceName.CHAT, SurfaceName.RERANK]),
    st.frozensets(st.sampled_from(list(Capability))),
    st.integers(0, 20_000),
    st.integers(0, 20_000),
)
_STATES = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.builds(State, st.booleans(), st.booleans(), st.booleans(), st.none() | st.integers(0, 20_000)),
)


def test_upstream_with_faulty_answers_is_tried_last() -> None:
    assert plan(LEAVE, demand(), CLOUD, CHAT, BIG, deprioritized={"cloud"}) == (
        ["chat", "big", "cloud"],
        ["clean", "latched:cloud"],
    )
    down = {"chat": State(is_down=True), "big": State(is_down=True)}
    assert plan(LEAVE, demand(), CLOUD, CHAT, BIG, deprioritized={"cloud"}, states=down)[0] == ["cloud", "chat", "big"]


_BILLS = st.builds(
    CostLimits,
    st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.integers(0, 9)),
    st.none() | st.integers(0, 9),
    st.none() | st.integers(0, 9),
)


@given(
    st.sampled_from(list(Verdict)),
    _CANDIDATES,
    _DEMANDS,
    _STATES,
    st.frozensets(st.sampled_from(["a", "b", "c", "d"])),
    _BILLS,
    st.frozensets(st.sampled_from(["a", "b", "c", "d"])),
)
def test_routing_only_narrows_what_policy_allows(
    verdict: Verdict,
    candidates: list[Candidate],
    wanted: Demand,
    states: dict[str, State],
    clouds: frozenset[str],
    bill: CostLimits,
    latched: frozenset[str],
) -> None:
    """Whatever the load and the estimates, exactly those are left that policy allows and that can serve it."""
    upstreams, reasons = plan(
        Permit(verdict, ("x",)), wanted, *candidates, states=states, clouds=clouds, bill=bill, deprioritized=latched
    )
    allowed = {
        each.name
        for each in candidates
        if verdict is not Verdict.BLOCK
        and (not each.is_cloud or (verdict is Verdict.LEAVE and each.name in clouds))
        and wanted.family in each.surfaces
        and (each.capabilities is None or wanted.needs <= each.capabilities)
        and all(most is None or bill.costs.get(each.name, 0) <= most for most in (bill.max_cost, bill.budget))
    }
    assert sorted(upstreams) == sorted(allowed)
    assert reasons[0] == "x"
    for name in {each.name for each in candidates} - allowed - {each.name for each in candidates if each.is_cloud}:
        assert verdict is Verdict.BLOCK or any(reason.endswith(f":{name}") for reason in reasons)


@pytest.mark.parametrize(
    ("body", "needs"),
    [
        ({}, set()),
        ({"tools": []}, set()),
        ({"tools": [{}]}, {Capability.TOOLS}),
        ({"functions": [{}]}, {Capability.TOOLS}),
        ({"response_format": {"type": "json_schema"}}, {Capability.JSON_SCHEMA}),
        ({"response_format": {"type": "text"}}, set()),
        ({"response_format": "json_schema"}, set()),
        ({"text": {"format": {"type": "json_schema"}}}, {Capability.JSON_SCHEMA}),
        ({"text": "x"}, set()),
        ({"reasoning_effort": "low"}, {Capability.REASONING}),
        ({"thinking": {"type": "enabled"}, "tools": [1]}, {Capability.REASONING, Capability.TOOLS}),
    ],
)
def test_what_a_body_asks_for(body: dict[str, Any], needs: set[Capability]) -> None:
    options: dict[str, Any] = {"family": SurfaceName.CHAT, "body_bytes": 800, "max_answer_tokens": 100}
    assert demand_of(body, obstacles=(), **options).needs == needs
    seen = demand_of(body, obstacles={Obstacle.IMAGE, Obstacle.AUDIO, Obstacle.KEY}, **options)
    assert seen.needs == needs | {Capability.VISION, Capability.AUDIO}
    assert (seen.tokens_at_least, seen.tokens) == (200, 300)
