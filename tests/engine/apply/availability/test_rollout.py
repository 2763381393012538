"""Floors and the failure budget hold over all waves: what failed before counts."""

from __future__ import annotations

from strategies import context

from sovctl.engine.apply.ansible import Failure
from sovctl.engine.apply.availability.rollout import Rollout
from sovctl.engine.plan.serving import Server, Serving
from sovctl.engine.resources.resource import Change, Risk, Verb

SITE = Serving(context("superpod-b200"))


def rollout(*, lost: frozenset[Server] = frozenset(), budget: int = 0, allowed: tuple[str, ...] = ()) -> Rollout:
    return Rollout(SITE, frozenset(SITE.nodes) - lost, allowed, budget)


def restart(node: str, name: str) -> Change:
    return Change(node, "pool", name, Verb.UPDATE, {"x": 1}, {"x": 2}, "why", Risk.WORKLOAD, 1.5)


def test_a_wave_that_keeps_its_floors_is_permitted_whole() -> None:
    changes = {"dgx-09": [restart("dgx-09", "reasoning")], "dgx-10": [restart("dgx-10", "reasoning.1")]}
    permitted, taken = rollout().permit(changes)
    assert permitted == changes
    assert taken == {Server("reasoning", "reasoning"), Server("reasoning", "reasoning.1")}


def test_nodes_are_deferred_when_failures_used_up_the_capacity() -> None:
    lost = frozenset(Server("reasoning", f"reasoning.{index}") for index in (4, 5, 6))
    state = rollout(lost=lost)
    state.fail([Failure("dgx-13", "pool", "restart", "exit 1")])
    changes = {"dgx-09": [restart("dgx-09", "reasoning")], "dgx-10": [restart("dgx-10", "reasoning.1")]}
    permitted, taken = state.permit(changes)
    assert list(permitted) == ["dgx-09"]
    assert taken == {Server("reasoning", "reasoning")}
    assert state.deferred == {"dgx-10": "reasoning 3/8 serving (floor 4), because dgx-13 failed"}


def test_all_ranks_of_a_replica_are_deferred_together() -> None:
    lost = frozenset(Server("long-context", f"long-context.{index}") for index in (1, 2))
    state = rollout(lost=lost)
    changes = {node: [restart(node, "long-context")] for node in ("dgx-01", "dgx-02")}
    assert state.permit(changes) == ({}, frozenset())
    assert set(state.deferred) == {"dgx-01", "dgx-02"}


def test_consent_permits_a_service_below_its_floor() -> None:
    lost = frozenset(Server("code", f"code.{index}") for index in (1, 2, 3))
    changes = {"dgx-25": [restart("dgx-25", "code")]}
    assert not rollout(lost=lost).permit(changes)[0]
    assert rollout(lost=lost, allowed=("code",)).permit(changes)[0] == changes


def test_the_budget_counts_nodes_over_all_waves() -> None:
    state = rollout(budget=2)
    for wave in (["dgx-01"], ["dgx-02"], ["dgx-02"]):
        state.fail([Failure(node, "pool", "restart", "exit 1") for node in wave])
        assert not state.is_over_budget
    state.fail([Failure("dgx-03", "", "observe", "no answer")])
    assert state.is_over_budget
    assert state.failed["dgx-03"] == "role -, task 'observe': no answer"
