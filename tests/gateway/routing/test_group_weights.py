"""Weights of a group: shares, the same upstream for the same conversation, and never more than policy allows."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.domain.obstacles import Obstacle
from sovctl.gateway.inspection.inspector import Inspection
from sovctl.gateway.policy.decision import Permit, Verdict, decide, stricter
from sovctl.gateway.policy.permissions import Permissions
from sovctl.gateway.routing.demand import Demand
from sovctl.gateway.routing.plan import Candidate, Candidates, plan_route
from sovctl.gateway.routing.weights import weighted_order
from sovctl.gateway.settings import Action, SurfaceName
from sovctl.gateway.upstream.server_choice import State

_NAMES = ("a", "b", "c", "d")
_KEYS = [f"{number:064x}" for number in range(8_000)]
WEIGHTS = st.dictionaries(st.sampled_from(_NAMES), st.integers(1, 1000), min_size=2)


@pytest.mark.parametrize("weights", [{"a": 3, "b": 1}, {"a": 1, "b": 1, "c": 1}, {"a": 98, "b": 1, "c": 1}])
def test_shares_of_conversations_are_those_of_the_weights(weights: dict[str, int]) -> None:
    first = Counter(weighted_order(weights, key=key)[0] for key in _KEYS)
    second = Counter(weighted_order(weights, key=key)[:2] for key in _KEYS)
    total = sum(weights.values())
    for name, weight in weights.items():
        share = weight / total
        bound = 4 * (share * (1 - share) / len(_KEYS)) ** 0.5  # four standard deviations; the hashes are fixed
        assert abs(first[name] / len(_KEYS) - share) < bound
        for other in weights:
            if other != name:  # after the first is gone, the others share by their weights
                expected = share * weights[other] / (total - weight)
                assert abs(second[name, other] / len(_KEYS) - expected) < 0.018


@examples(400)
@given(WEIGHTS, st.text(max_size=64), st.data())
def test_a_conversation_keeps_its_upstream_when_others_come_and_go(
    weights: dict[str, int], key: str, data: st.DataObject
) -> None:
    order = weighted_order(weights, key=key)
    assert sorted(order) == sorted(weights)
    assert order == weighted_order(dict(reversed(weights.items())), key=key)
    gone = data.draw(st.sampled_from(order))
    rest = {name: weight for name, weight in weights.items() if name != gone}
    assert weighted_order(rest, key=key) == tuple(name for name in order if name != gone)


@examples(400)
@given(
    WEIGHTS,
    st.sets(st.sampled_from(_NAMES)),
    st.sets(st.sampled_from(_NAMES)),
    st.sets(st.sampled_from(_NAMES)),
    st.sampled_from(Verdict),
    st.text(max_size=16),
)
def test_no_weight_makes_a_request_leave(
    weights: dict[str, int], clouds: set[str], allowed: set[str], down: set[str], verdict: Verdict, key: str
) -> None:
    served = frozenset({SurfaceName.CHAT})
    candidates = Candidates(
        tuple(Candidate(name, name in clouds, served, None, 512) for name in _NAMES), None, (weights,)
    )
    made = plan_route(
        Permit(verdict, ("x",)),
        candidates,
        Demand(SurfaceName.CHAT, frozenset(), 1, 1),
        clouds=allowed,
        state=lambda name: State(is_down=name in down),
        key=key,
    )
    permitted = {name for name in _NAMES if name not in clouds or (verdict is Verdict.LEAVE and name in allowed)}
    assert set(made.upstreams) == (set() if verdict is Verdict.BLOCK else permitted)
    working = [name for name in made.upstreams if name not in down]
    assert list(made.upstreams[: len(working)]) == working  # a weight asks no broken upstream first
    if verdict is not Verdict.BLOCK:
        order = [name for name in weighted_order(weights, key=key) if name in permitted - down]
        assert [name for name in working if name in weights] == order


def test_a_group_has_the_place_of_its_first_member() -> None:
    served = frozenset({SurfaceName.CHAT})
    candidates = Candidates(
        tuple(Candidate(name, False, served, None, 512) for name in _NAMES), None, ({"b": 1, "d": 1},)
    )
    for key in _KEYS[:50]:
        everything, first = candidates.ordered(key)
        names = [each.name for each in everything]
        assert names in (["a", "b", "d", "c"], ["a", "d", "b", "c"])
        assert first == (names[1],)


ACTIONS = st.sampled_from(Action)
PERMISSIONS = st.builds(
    Permissions,
    st.fixed_dictionaries(dict.fromkeys(EntityType, ACTIONS)),
    st.dictionaries(st.tuples(st.sampled_from(EntityType), st.sampled_from(["R", "S"])), ACTIONS, max_size=3),
    st.frozensets(st.sampled_from(["en", "de", "pl"])),
    st.just(frozenset()),
    st.booleans(),
    st.frozensets(st.sampled_from(_NAMES)),
)
_STRICT = [Action.ALLOW, Action.TOKENIZE, Action.MASK, Action.ON_PREM, Action.BLOCK]


@examples(200)
@given(PERMISSIONS, PERMISSIONS, st.sampled_from(EntityType), st.sampled_from(["R", "S", "T"]))
def test_both_policies_apply_to_an_upstream_of_a_fallback_route(
    own: Permissions, other: Permissions, entity_type: EntityType, rule: str
) -> None:
    both = own.restricted_by(other)
    wanted = max(own.action_for(entity_type, rule), other.action_for(entity_type, rule), key=_STRICT.index)
    assert both.action_for(entity_type, rule) is wanted
    assert both.name_languages == own.name_languages & other.name_languages
    assert both.has_cloud == (own.has_cloud and other.has_cloud)
    assert both.clouds == other.clouds


FOUND = st.dictionaries(
    st.tuples(st.sampled_from(EntityType), st.sampled_from(["R", "S", "T"])), st.integers(1, 3), max_size=4
)


@examples(400)
@given(
    PERMISSIONS,
    PERMISSIONS,
    FOUND,
    st.frozensets(st.sampled_from(["en", "de", "und"]), max_size=2),
    st.frozensets(st.sampled_from(Obstacle), max_size=1),
)
def test_no_fallback_permits_what_one_of_both_policies_forbids(
    own: Permissions,
    other: Permissions,
    found: dict[tuple[EntityType, str], int],
    languages: frozenset[str],
    obstacles: frozenset[Obstacle],
) -> None:
    inspection = Inspection(found, languages, obstacles)
    both = decide(inspection, own.restricted_by(other))
    if both.verdict is Verdict.LEAVE:
        assert decide(inspection, own).verdict is Verdict.LEAVE
        assert decide(inspection, other).verdict is Verdict.LEAVE


def test_the_stricter_decision_holds() -> None:
    for first in Verdict:
        for second in Verdict:
            both = {
                stricter(Permit(first, ("a",)), Permit(second, ("b",))),
                stricter(Permit(second, ("b",)), Permit(first, ("a",))),
            }
            assert {each.verdict for each in both} == {min(first, second, key=list(Verdict).index)}
