"""Positions, rules and simulation of a whole site."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from bench.scaling import site
from sovctl.engine.catalog.scaling import load_day_shapes, load_thresholds
from sovctl.engine.placement import try_assign_gpus
from sovctl.engine.scaling.positions import ReplicaId, positions, try_positions
from sovctl.engine.scaling.rules import rules_of
from sovctl.engine.scaling.simulation.comparison import compare, shapes_of, totals
from sovctl.engine.spec import SiteSpec
from sovctl.engine.spec.scaling import IdleState
from sovctl.engine.validation.load import LoadedSpec
from sovctl.support.errors import InputError


@pytest.fixture(scope="module")
def loaded() -> LoadedSpec:
    return site()


def bounded(spec: SiteSpec, **maximum: int) -> SiteSpec:
    assert spec.scaling is not None
    pools = [
        each.model_copy(update={"maximum_replicas": maximum.get(each.pool, each.maximum_replicas)})
        for each in spec.scaling.pools
    ]
    return spec.model_copy(update={"scaling": spec.scaling.model_copy(update={"pools": pools})})


def test_each_pool_reaches_its_maximum_while_the_other_is_at_its_minimum(loaded: LoadedSpec) -> None:
    spec, found = loaded.spec, positions(loaded.spec, loaded.catalog)
    assert spec.scaling is not None
    assert len(found) == 16
    for grown in spec.scaling.pools:
        awake = [
            replica
            for each in spec.scaling.pools
            for replica in found
            if replica.pool == each.pool
            and replica.index < (each.maximum_replicas if each is grown else each.minimum_replicas)
        ]
        assert not any(found[one].conflicts(found[other]) for one, other in combinations(awake, 2))


def test_replicas_on_one_node_have_their_own_ports(loaded: LoadedSpec) -> None:
    found = positions(loaded.spec, loaded.catalog)
    assert len({(each.node, each.port) for each in found.values()}) == len(found)


def test_a_maximum_without_gpus_is_a_problem(loaded: LoadedSpec) -> None:
    found, problems = try_positions(bounded(loaded.spec, code=12), loaded.catalog)
    assert [each.where for each in problems] == ["scaling.pools[1].maximum_replicas"]
    assert "expected at most 6 replicas" in problems[0].message
    assert ReplicaId("code", 5) in found


def test_pools_that_share_gpus_in_turns_are_a_problem(loaded: LoadedSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    placed, _ = try_assign_gpus(loaded.spec, loaded.catalog)
    chat, code = (next(each for each in placed if each.pool == pool) for pool in ("chat", "code"))
    moved = [replace(each, ranks=chat.ranks) if each == code else each for each in placed]
    monkeypatch.setattr("sovctl.engine.scaling.positions.try_assign_gpus", lambda *_: (moved, []))
    problems = try_positions(loaded.spec, loaded.catalog)[1]
    assert [each.where for each in problems] == ["scaling.pools[0].pool", "scaling.pools[1].pool"]
    assert "which pool code has too" in problems[0].message


def test_a_sleeping_replica_serves_sooner_than_a_stopped_one(loaded: LoadedSpec) -> None:
    spec = loaded.spec
    assert spec.scaling is not None
    asleep = [each.model_copy(update={"idle": IdleState.ASLEEP}) for each in spec.scaling.pools]
    changed = spec.model_copy(update={"scaling": spec.scaling.model_copy(update={"pools": asleep})})
    stopped, sleeping = (rules_of(each, loaded.catalog).pools[0] for each in (spec, changed))
    assert (sleeping.load_time_s, sleeping.cooldown_s) == (6, 120)
    assert stopped.cooldown_s == pytest.approx(2 * stopped.load_time_s)


def test_a_twentieth_of_the_load_needs_fewer_gpu_hours_without_violations(loaded: LoadedSpec) -> None:
    found = totals(list(compare(loaded.spec, loaded.catalog, shapes=shapes_of(loaded.spec, {}), load=0.05)))
    days = {each.policy: each.day for each in found}
    assert days["static"].gpu_hours == pytest.approx(16 * 24)
    assert len({each.requests for each in days.values()}) == 1
    # 2 + 2 GPUs at the minimum, after the first cooldowns
    assert days["sovctl, stopped"].gpu_hours < 16 * 24 * 0.3
    assert days["sovctl, stopped"].violations == 0


def test_unknown_shapes_and_pools_are_errors(loaded: LoadedSpec) -> None:
    for chosen, message in (({"chat": "voice"}, "conversation, coding"), ({"voice": "coding"}, "chat, code")):
        with pytest.raises(InputError, match=message):
            shapes_of(loaded.spec, chosen)


def test_the_shape_of_a_day_is_continuous_and_has_its_peak_in_the_busiest_hour() -> None:
    for shape in load_day_shapes().values():
        hours = [minute / 60 for minute in range(24 * 60)]
        assert max(hours, key=shape.at) == shape.per_minute.index(max(shape.per_minute)) + 0.5
        assert shape.at(0.0) == pytest.approx(shape.at(24.0))
    assert all(each.source and each.unit for each in load_thresholds().values())
