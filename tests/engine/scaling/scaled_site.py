"""Rules of two pools on one node with 4 GPUs: chat has 3 replicas of 1 GPU, code has 1 and may use 2 more of chat's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sovctl.engine.scaling.decision import Observed, PoolRule, Rules
from sovctl.engine.scaling.fleet import Fleet, Phase
from sovctl.engine.scaling.loads import Load
from sovctl.engine.scaling.positions import Position, ReplicaId
from sovctl.engine.scaling.rules import thresholds

COOLDOWN_S = 240.0
_GPUS = {"chat": (0, 1, 2), "code": (3, 2, 1)}
POSITIONS = {
    ReplicaId(pool, index): Position("n1", (("n1", gpu),), 8000 + gpu)
    for pool, gpus in _GPUS.items()
    for index, gpu in enumerate(gpus)
}
RULES = Rules(
    tuple(PoolRule(pool, 1, 3, None, 120.0, COOLDOWN_S, COOLDOWN_S) for pool in _GPUS), POSITIONS, thresholds()
)
IDLE, BUSY = Load(0.05, 0, 1), Load(0.9, 9, 40)


def with_rule(pool: str, **changes: Any) -> Rules:
    """Return the rules with changed fields of one pool."""
    return replace(RULES, pools=tuple(replace(each, **changes) if each.pool == pool else each for each in RULES.pools))


def fleet(chat: int = 3, code: int = 1, **phases: Phase) -> Fleet:
    """Return a fleet whose first replicas are awake, with further phases such as `code_1=Phase.STARTING`."""
    counts = {"chat": chat, "code": code}
    made = {each: Phase.AWAKE if each.index < counts[each.pool] else Phase.IDLE for each in POSITIONS}
    for name, phase in phases.items():
        pool, _, index = name.partition("_")
        made[ReplicaId(pool, int(index))] = phase
    return Fleet(made)


def observed(state: Fleet, loads: Mapping[str, Load], **required: int) -> dict[str, Observed]:
    """Return the same load for every serving replica of a pool, in both windows."""
    found = {}
    for pool, load in loads.items():
        window = dict.fromkeys(state.of(pool, Phase.AWAKE), load)
        found[pool] = Observed(window, window, required.get(pool, 0), required.get(pool, 0))
    return found
