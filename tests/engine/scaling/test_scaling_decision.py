"""Each reason of a decision: saturation, calendar, bounds, cooldown, missing metrics, GPUs of another pool."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scaled_site import BUSY, COOLDOWN_S, IDLE, RULES, fleet, observed, with_rule

from sovctl.engine.scaling.decision import Observed, Rules, decide
from sovctl.engine.scaling.fleet import Direction, Fleet, LastMove, Phase
from sovctl.engine.scaling.loads import Load
from sovctl.engine.scaling.positions import ReplicaId

HALF = Load(0.5, 0, 10)

CASES: dict[str, tuple[Rules, Fleet, dict[str, Load], dict[str, int], list[str]]] = {
    "a saturated pool gets an idle replica": (
        RULES, fleet(chat=2), {"chat": BUSY, "code": HALF}, {}, ["start chat/2"]),
    "KV cache at 0.71 leaves less than 0.10 to 0.80": (
        RULES, fleet(chat=2), {"chat": Load(0.71, 0, 9), "code": HALF}, {}, ["start chat/2"]),
    "KV cache at 0.69 leaves enough": (
        RULES, fleet(chat=2), {"chat": Load(0.69, 0, 9), "code": HALF}, {}, []),
    "3 waiting requests leave less than 3 of 5": (
        RULES, fleet(chat=2), {"chat": Load(0.1, 3, 9), "code": HALF}, {}, ["start chat/2"]),
    "2 waiting requests leave enough": (
        RULES, fleet(chat=2), {"chat": Load(0.4, 2, 9), "code": HALF}, {}, []),
    "sized requests in flight count as usage": (
        with_rule("chat", in_flight=10.0), fleet(chat=2), {"chat": Load(0.1, 0, 8), "code": HALF}, {},
        ["start chat/2"]),
    "a pool at its maximum does not grow": (
        with_rule("chat", maximum=2), fleet(chat=2), {"chat": BUSY, "code": HALF}, {}, []),
    "no move while a replica is pending": (
        RULES, fleet(chat=1, chat_1=Phase.STARTING), {"chat": BUSY, "code": HALF}, {}, []),
    "an idle pool gives one replica back": (
        RULES, fleet(chat=2), {"chat": IDLE, "code": HALF}, {}, ["release chat/1"]),
    "a pool at its minimum keeps it": (
        RULES, fleet(chat=1), {"chat": IDLE, "code": HALF}, {}, []),
    "half load on two replicas does not fit on one": (
        RULES, fleet(chat=2), {"chat": HALF, "code": HALF}, {}, []),
    "the calendar starts a replica before the load": (
        RULES, fleet(chat=1), {"chat": HALF, "code": HALF}, {"chat": 2}, ["start chat/1"]),
    "the calendar keeps a replica": (
        RULES, fleet(chat=2), {"chat": IDLE, "code": HALF}, {"chat": 2}, []),
    "GPUs move from an idle pool to a saturated one": (
        RULES, fleet(chat=3), {"chat": IDLE, "code": BUSY}, {}, ["release chat/2, start code/1"]),
    "a loaded pool releases no GPUs": (
        RULES, fleet(chat=3), {"chat": HALF, "code": BUSY}, {}, []),
    "a pool below its minimum gets a replica": (
        with_rule("chat", minimum=2), fleet(chat=1), {"chat": IDLE, "code": HALF}, {}, ["start chat/1"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_decides(case: str) -> None:
    rules, state, loads, required, expected = CASES[case]
    made = decide(rules, state, observed(state, loads, **required), now_s=1000.0)
    assert [str(each) for each in made.moves] == expected


def test_missing_metrics_hold_the_pool_and_raise_an_alert_even_if_the_calendar_requires_more() -> None:
    state = fleet(chat=1)
    seen = observed(state, {"code": HALF}) | {"chat": Observed(None, None, 3, 3)}
    made = decide(RULES, state, seen, now_s=0.0)
    assert not made.moves
    assert made.alerts == {"chat": "metrics of a serving replica are missing"}


def test_a_pool_without_metrics_releases_no_gpus() -> None:
    state = fleet(chat=3)
    seen = observed(state, {"code": BUSY}) | {"chat": Observed(None, None)}
    made = decide(RULES, state, seen, now_s=0.0)
    assert not made.moves
    assert set(made.alerts) == {"chat", "code"}


def test_a_pool_whose_history_is_shorter_than_the_window_does_not_shrink() -> None:
    state = fleet(chat=2)
    seen = observed(state, {"chat": IDLE, "code": HALF})
    seen["chat"] = replace(seen["chat"], longer=None)
    assert not decide(RULES, state, seen, now_s=0.0).moves


@pytest.mark.parametrize(("direction", "load"), [(Direction.UP, IDLE), (Direction.DOWN, BUSY)])
def test_a_pool_does_not_turn_within_its_cooldown(direction: Direction, load: Load) -> None:
    state = replace(fleet(chat=2), last={"chat": LastMove(100.0, direction)})
    seen = observed(state, {"chat": load, "code": HALF})
    assert not decide(RULES, state, seen, now_s=100.0 + COOLDOWN_S - 1).moves
    assert len(decide(RULES, state, seen, now_s=100.0 + COOLDOWN_S).moves) == 1


def test_the_calendar_of_the_next_cooldown_keeps_a_replica() -> None:
    state = fleet(chat=2)
    seen = observed(state, {"chat": IDLE, "code": HALF})
    seen["chat"] = replace(seen["chat"], required_soon=2)
    assert not decide(RULES, state, seen, now_s=0.0).moves


def test_a_replica_waits_until_the_gpus_are_free() -> None:
    state = fleet(chat=3)
    (move,) = decide(RULES, state, observed(state, {"chat": IDLE, "code": BUSY}), now_s=0.0).moves
    after = state.after(move, now_s=0.0)
    assert after.phases[ReplicaId("chat", 2)] is Phase.DRAINING
    assert after.phases[ReplicaId("code", 1)] is Phase.WAITING
