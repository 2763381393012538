"""Policy and routing as tables: what may leave, and where it goes. Routing only ever narrows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.inspection import Inspection
from sovctl.gateway.kinds import Kind
from sovctl.gateway.obstacles import Obstacle
from sovctl.gateway.policy import Permit, Verdict, decide
from sovctl.gateway.route import plan_route
from sovctl.gateway.settings import Action, PolicySettings, RouteSettings, SurfaceName, UpstreamKind, UpstreamSettings

POLICY = PolicySettings(
    default=Action.TOKENIZE,
    entities={"PERSON": Action.ON_PREM, "SECRET": Action.BLOCK, "IP": Action.ALLOW},
    name_languages=["en"],
)
UPSTREAMS = {
    "chat": UpstreamSettings(
        name="chat", kind=UpstreamKind.POOL, base_urls=["https://10.0.0.1/v1"], model="m", max_model_len=512
    ),
    "cloud": UpstreamSettings(name="cloud", kind=UpstreamKind.CLOUD, base_urls=["https://10.0.0.2/v1"], model="m"),
}


def inspection(
    counts: dict[Kind, int] | None = None, languages: set[str] | None = None, *obstacles: Obstacle
) -> Inspection:
    return Inspection(counts or {}, frozenset(languages or {"en"}), frozenset(obstacles))


@pytest.mark.parametrize(
    ("found", "verdict", "reasons"),
    [
        (inspection(), Verdict.LEAVE, ("clean",)),
        (inspection({}, {"zxx"}), Verdict.LEAVE, ("clean",)),
        (inspection({Kind.IP: 3}), Verdict.LEAVE, ("clean",)),
        (inspection({Kind.IBAN: 1, Kind.EMAIL: 2}), Verdict.LEAVE, ("tokenized:IBAN", "tokenized:EMAIL")),
        (inspection({Kind.PERSON: 1, Kind.IBAN: 1}), Verdict.STAY, ("kind-on-prem:PERSON",)),
        (inspection({Kind.SECRET: 1, Kind.PERSON: 1}), Verdict.BLOCK, ("kind-blocked:SECRET",)),
        (inspection({}, {"en", "de"}), Verdict.STAY, ("language:de",)),
        (inspection({}, {"und"}), Verdict.STAY, ("language:und",)),
        (inspection({}, {"en"}, Obstacle.IMAGE), Verdict.STAY, ("obstacle:image",)),
    ],
)
def test_the_table_of_policy(found: Inspection, verdict: Verdict, reasons: tuple[str, ...]) -> None:
    assert decide(found, POLICY, has_cloud=True) == Permit(verdict, reasons)
    assert decide(found, POLICY, has_cloud=False) == Permit(Verdict.STAY, ("no-cloud",))


def test_names_that_are_allowed_make_the_language_irrelevant() -> None:
    policy = PolicySettings(entities={"PERSON": Action.ALLOW})
    assert decide(inspection({}, {"und"}), policy, has_cloud=True).verdict is Verdict.LEAVE


def test_without_a_language_named_nothing_with_words_leaves() -> None:
    assert decide(inspection(), PolicySettings(), has_cloud=True).verdict is Verdict.STAY


_INSPECTIONS = st.builds(
    Inspection,
    st.dictionaries(st.sampled_from(list(Kind)), st.integers(1, 3)),
    st.frozensets(st.sampled_from(["en", "de", "und", "zxx"]), min_size=1),
    st.frozensets(st.sampled_from(list(Obstacle))),
)
_POLICIES = st.builds(
    PolicySettings,
    default=st.sampled_from(list(Action)),
    entities=st.dictionaries(st.sampled_from([kind.value for kind in Kind]), st.sampled_from(list(Action))),
    name_languages=st.lists(st.sampled_from(["en", "de"])),
)


@given(
    _INSPECTIONS,
    _POLICIES,
    st.sampled_from(["pool", "cloud"]),
    st.integers(0, 10**6),
    st.sets(st.sampled_from(["chat", "cloud"])),
)
def test_routing_only_narrows_what_policy_allows(
    found: Inspection, policy: PolicySettings, prefer: Any, body_bytes: int, down: set[str]
) -> None:
    route = RouteSettings(model="m", pool="chat", cloud="cloud", prefer=prefer)
    permit = decide(found, policy, has_cloud=True)
    plan = plan_route(
        permit, route, UPSTREAMS, family=SurfaceName.CHAT, body_bytes=body_bytes, max_answer_tokens=0, down=down
    )
    allowed = {Verdict.BLOCK: set(), Verdict.STAY: {"chat"}, Verdict.LEAVE: {"chat", "cloud"}}[permit.verdict]
    assert set(plan.upstreams) == allowed
    assert plan.reasons[: len(permit.reasons)] == permit.reasons
    stays = {Action.ON_PREM, Action.BLOCK} & {policy.action_for(kind) for kind in found.counts}
    assert not (permit.verdict is Verdict.LEAVE and (stays or found.obstacles))


@pytest.mark.parametrize(
    ("prefer", "body_bytes", "down", "order"),
    [
        ("pool", 100, set(), ("chat", "cloud")),
        ("cloud", 100, set(), ("cloud", "chat")),
        ("pool", 9000, set(), ("cloud", "chat")),  # more than 512 tokens whatever the tokenizer
        ("pool", 100, {"chat"}, ("cloud", "chat")),
        ("cloud", 100, {"cloud"}, ("chat", "cloud")),
        ("cloud", 9000, {"cloud"}, ("chat", "cloud")),  # down weighs more than an estimate
    ],
)
def test_the_order_of_upstreams(prefer: Any, body_bytes: int, down: set[str], order: tuple[str, ...]) -> None:
    route = RouteSettings(model="m", pool="chat", cloud="cloud", prefer=prefer)
    permit = Permit(Verdict.LEAVE, ("clean",))
    plan = plan_route(
        permit, route, UPSTREAMS, family=SurfaceName.CHAT, body_bytes=body_bytes, max_answer_tokens=0, down=down
    )
    assert plan.upstreams == order
