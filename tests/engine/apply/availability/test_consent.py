"""Downtime needs the operator's consent, by the name of the service."""

from __future__ import annotations

import pytest

from sovctl.engine.apply.availability.consent import check_consent
from sovctl.engine.plan.file import Plan
from sovctl.engine.plan.serving import Capacity
from sovctl.engine.plan.waves import Wave
from sovctl.support.errors import InputError

KEPT = Wave("canary", ("n1",), 1.0, (Capacity("chat", 4, 3, 4, 2),))
STOPS_CHAT = Wave("wave 1", ("n2",), 1.0, (Capacity("chat", 1, 0, 1, 1),))
STOPS_GATEWAY = Wave("wave 2", ("s1",), 1.0, (Capacity("gateway", 1, 0, 1, 1),))


def plan(*waves: Wave) -> Plan:
    return Plan("lab", "2026-11-21T09:00:00Z", "0", "a", "b", {}, True, (), waves)


def test_a_plan_that_keeps_its_floors_needs_no_consent() -> None:
    check_consent(plan(KEPT), ())


def test_every_service_without_consent_is_named_with_its_option() -> None:
    with pytest.raises(InputError) as caught:
        check_consent(plan(KEPT, STOPS_CHAT, STOPS_GATEWAY), ())
    assert caught.value.message == (
        "the plan takes pool chat, the gateways below min_serving (wave 1: chat 0/1 serving (floor 1); "
        "wave 2: gateways 0/1 serving (floor 1))"
    )
    assert "--allow-downtime chat --allow-downtime gateway" in caught.value.hint


def test_consent_is_for_the_named_service_only() -> None:
    check_consent(plan(STOPS_CHAT, STOPS_GATEWAY), ("chat", "gateway"))
    with pytest.raises(InputError, match="takes the gateways below"):
        check_consent(plan(STOPS_CHAT, STOPS_GATEWAY), ("chat",))


@pytest.mark.parametrize("waves", [(KEPT,), (STOPS_CHAT,)])
def test_consent_for_a_service_without_downtime_is_a_mistake(waves: tuple[Wave, ...]) -> None:
    with pytest.raises(InputError, match="got embeddings"):
        check_consent(plan(*waves), ("chat", "embeddings") if STOPS_CHAT in waves else ("embeddings",))
