"""Policy as a table: what may leave, by entity, tenant and route."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sovctl.gateway.detect import make_detector
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.domain.obstacles import Obstacle
from sovctl.gateway.inspection.inspector import Inspection
from sovctl.gateway.policy.decision import FORMER_REASONS, Permit, Reason, Verdict, decide, with_current_name
from sovctl.gateway.policy.permissions import Permissions, Policy, check_rules
from sovctl.gateway.settings import Action, DetectSettings, PolicyRule, PolicySettings, RouteSettings
from sovctl.support.errors import SpecError

POLICY = PolicySettings(
    default=Action.TOKENIZE,
    entity_types={"PERSON": Action.ON_PREM, "SECRET": Action.BLOCK, "IP": Action.ALLOW},
    name_languages=["en"],
)
CLOUD = RouteSettings(model="m", pool="chat", cloud="cloud")
INSIDE = RouteSettings(model="inside", pool="chat")


def inspection(
    counts: dict[EntityType, int] | None = None, languages: set[str] | None = None, *obstacles: Obstacle
) -> Inspection:
    found = {(kind, "RULE"): count for kind, count in (counts or {}).items()}
    return Inspection(found, frozenset(languages or {"en"}), frozenset(obstacles))


def permissions(policy: PolicySettings = POLICY, tenant: str = "retail", route: RouteSettings = CLOUD) -> Permissions:
    assert not policy.table([CLOUD, INSIDE]).problems(entity_types=list(EntityType))
    return Policy.compile(policy, [CLOUD, INSIDE]).of(tenant, route.model)


@pytest.mark.parametrize(
    ("found", "verdict", "reasons"),
    [
        (inspection(), Verdict.LEAVE, ("clean",)),
        (inspection({}, {"zxx"}), Verdict.LEAVE, ("clean",)),
        (inspection({EntityType.IP: 3}), Verdict.LEAVE, ("clean",)),
        (inspection({EntityType.IBAN: 1, EntityType.EMAIL: 2}), Verdict.LEAVE, ("tokenized:EMAIL", "tokenized:IBAN")),
        (inspection({EntityType.PERSON: 1, EntityType.IBAN: 1}), Verdict.STAY, ("entity-type-on-prem:PERSON",)),
        (inspection({EntityType.SECRET: 1, EntityType.PERSON: 1}), Verdict.BLOCK, ("entity-type-blocked:SECRET",)),
        (inspection({}, {"en", "de"}), Verdict.STAY, ("language:de",)),
        (inspection({}, {"und"}), Verdict.STAY, ("language:und",)),
        (inspection({}, {"en"}, Obstacle.IMAGE), Verdict.STAY, ("obstacle:image",)),
    ],
)
def test_the_table_of_policy(found: Inspection, verdict: Verdict, reasons: tuple[str, ...]) -> None:
    assert decide(found, permissions()) == Permit(verdict, reasons)
    assert decide(found, permissions(route=INSIDE)) == Permit(Verdict.STAY, ("no-cloud",))


def test_names_that_are_allowed_make_the_language_irrelevant() -> None:
    policy = PolicySettings(entity_types={"PERSON": Action.ALLOW})
    assert decide(inspection({}, {"und"}), permissions(policy)).verdict is Verdict.LEAVE


def test_without_name_languages_text_stays_on_prem() -> None:
    assert decide(inspection(), permissions(PolicySettings())).verdict is Verdict.STAY


def test_rules_speak_of_single_rules_tenants_and_routes() -> None:
    policy = PolicySettings(
        entity_types={"PERSON": Action.ON_PREM, "SECRET": Action.BLOCK},
        rules=[
            PolicyRule(entity_types=["TAX_ID"], action=Action.ON_PREM),
            PolicyRule(entity_types=["TAX_ID/DE_TAX_ID"], action=Action.MASK),
            PolicyRule(entity_types=["PERSON"], tenants=["hr"], action=Action.BLOCK),
            PolicyRule(entity_types=["CARD"], routes=["inside"], action=Action.BLOCK),
        ],
        name_languages=["en"],
    )
    german = Inspection({(EntityType.TAX_ID, "DE_TAX_ID"): 1}, frozenset({"en"}), frozenset())
    other = Inspection({(EntityType.TAX_ID, "FR_NIR"): 1, **german.found}, frozenset({"en"}), frozenset())
    person, card = inspection({EntityType.PERSON: 1}), inspection({EntityType.CARD: 1})
    assert decide(german, permissions(policy)) == Permit(Verdict.LEAVE, ("masked:TAX_ID/DE_TAX_ID",))
    assert decide(other, permissions(policy)) == Permit(Verdict.STAY, ("entity-type-on-prem:TAX_ID",))
    assert decide(person, permissions(policy)).verdict is Verdict.STAY
    assert decide(person, permissions(policy, tenant="hr")).verdict is Verdict.BLOCK
    assert decide(person, permissions(policy, tenant="hr", route=INSIDE)).verdict is Verdict.STAY
    assert decide(card, permissions(policy)) == Permit(Verdict.LEAVE, ("tokenized:CARD",))
    assert decide(card, permissions(policy, route=INSIDE)) == Permit(Verdict.BLOCK, ("entity-type-blocked:CARD",))


def test_a_rule_that_the_detector_does_not_have_is_refused_with_the_nearest() -> None:
    policy = PolicySettings(rules=[PolicyRule(entity_types=["TAX_ID/DE_TAXID"], action=Action.MASK)])
    with pytest.raises(SpecError) as caught:
        check_rules(policy, make_detector(DetectSettings()))
    assert (
        str(caught.value.problems[0]) == "policy.rules[0].entity_types: expected a rule of the detector, got DE_TAXID"
    )
    assert caught.value.problems[0].hint == "did you mean DE_TAX_ID?"


_INSPECTIONS = st.builds(
    Inspection,
    st.dictionaries(st.tuples(st.sampled_from(list(EntityType)), st.sampled_from(["A", "B"])), st.integers(1, 3)),
    st.frozensets(st.sampled_from(["en", "de", "und", "zxx"]), min_size=1),
    st.frozensets(st.sampled_from(list(Obstacle))),
)
_POLICIES = st.builds(
    PolicySettings,
    default=st.sampled_from(list(Action)),
    entity_types=st.dictionaries(st.sampled_from([kind.value for kind in EntityType]), st.sampled_from(list(Action))),
    rules=st.lists(
        st.builds(
            PolicyRule,
            entity_types=st.lists(st.sampled_from(["PERSON", "IBAN", "TAX_ID", "TAX_ID/A", "IBAN/B"]), max_size=2),
            tenants=st.lists(st.sampled_from(["hr", "retail"]), max_size=1),
            routes=st.lists(st.sampled_from(["m", "inside"]), max_size=1),
            action=st.sampled_from(list(Action)),
        ),
        max_size=3,
    ),
    name_languages=st.lists(st.sampled_from(["en", "de"])),
)


@given(_INSPECTIONS, _POLICIES, st.sampled_from(["hr", "retail", "other"]))
def test_what_was_compiled_says_what_the_table_says(found: Inspection, policy: PolicySettings, tenant: str) -> None:
    table = policy.table([CLOUD, INSIDE])
    assume(not table.problems(entity_types=list(EntityType)))
    permit = decide(found, Policy.compile(policy, [CLOUD, INSIDE]).of(tenant, "m"))
    said = {table.deciding(f"{kind}/{rule}", tenant=tenant, route="m").action for kind, rule in found.found}
    assert (permit.verdict is Verdict.BLOCK) == (Action.BLOCK in said)
    assert permit.reasons
    if permit.verdict is Verdict.LEAVE:
        assert not {Action.ON_PREM, Action.BLOCK} & said
        assert not found.obstacles


def test_a_former_reason_of_a_record_is_shown_with_its_current_name() -> None:
    assert with_current_name("kind-blocked:SECRET") == "kind-blocked:SECRET (now entity-type-blocked)"
    assert with_current_name("detector-failed:second-look").endswith("(now detector-failed:llm-review)")
    assert with_current_name("detector-failed:kk-names") == "detector-failed:kk-names"


def test_no_former_reason_is_in_use() -> None:
    assert not {reason.value for reason in Reason} & FORMER_REASONS.keys()
    assert {current.partition(":")[0] for current in FORMER_REASONS.values()} <= {reason.value for reason in Reason}
