"""Over any history of loads: bounds, GPUs, cooldown and missing metrics hold after every decision."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from scaled_site import COOLDOWN_S, POSITIONS, RULES, fleet

from examples import examples
from sovctl.engine.scaling.decision import Observed, decide
from sovctl.engine.scaling.fleet import Direction, Phase, shared_gpus
from sovctl.engine.scaling.loads import Load

LOAD = st.builds(Load, st.sampled_from([0.0, 0.1, 0.5, 0.72, 0.95]), st.sampled_from([0, 2, 4, 9]), st.just(3))
STEP = st.fixed_dictionaries(
    {
        "load": st.fixed_dictionaries({"chat": st.none() | LOAD, "code": st.none() | LOAD}),
        "required": st.fixed_dictionaries({"chat": st.integers(0, 3), "code": st.integers(0, 3)}),
        "is_settled": st.booleans(),
        "after_s": st.sampled_from([15.0, 120.0, 300.0]),
    }
)


@examples(200)
@given(start=st.tuples(st.integers(1, 3), st.just(1)), steps=st.lists(STEP, min_size=1, max_size=25))
def test_bounds_gpus_cooldown_and_missing_metrics_hold(start: tuple[int, int], steps: list[dict[str, object]]) -> None:
    state, now_s = fleet(*start), 0.0
    last: dict[str, tuple[float, Direction]] = {}
    for step in steps:
        now_s += step["after_s"]  # type: ignore[operator]
        if step["is_settled"]:  # pending phases end: drained replicas are idle, then the waiting ones start and serve
            for replica, phase in list(state.phases.items()):
                if phase is Phase.DRAINING:
                    state = state.with_phase(replica, Phase.IDLE)
            for replica, phase in list(state.phases.items()):
                if phase in (Phase.WAITING, Phase.STARTING):
                    state = state.with_phase(replica, Phase.AWAKE)
        loads, required = step["load"], step["required"]
        seen = {
            pool: Observed(window, window, required[pool], required[pool])  # type: ignore[index]
            for pool, load in loads.items()  # type: ignore[attr-defined]
            for window in [None if load is None else dict.fromkeys(state.of(pool, Phase.AWAKE), load)]
        }
        made = decide(RULES, state, seen, now_s=now_s)
        for move in made.moves:
            for pool, direction in move.directions().items():
                assert seen[pool].recent is not None
                if pool in last and last[pool][1] is not direction:
                    assert now_s - last[pool][0] >= COOLDOWN_S
                last[pool] = now_s, direction
            state = state.after(move, now_s=now_s)
        assert not shared_gpus(state, POSITIONS)
        held = sum(len(POSITIONS[each].gpus) for each, phase in state.phases.items() if phase.holds_gpus)
        assert held <= 4
        for rule in RULES.pools:
            awake = len(state.of(rule.pool, Phase.AWAKE))
            pending = len(state.of(rule.pool, Phase.STARTING, Phase.WAITING))
            assert rule.minimum <= awake + pending
            assert awake + pending <= rule.maximum
            if not pending:
                assert awake >= rule.minimum
