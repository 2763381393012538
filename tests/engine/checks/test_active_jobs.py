"""Order of active tests: none overlaps on a node, and the power cap holds, for any set of jobs."""

from __future__ import annotations

import pytest
from active_cases import Late, target
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.checks.model.active_check import NodeCommand
from sovctl.engine.checks.runner.active.jobs import Job, PowerBudget, jobs_of, startable

NODES = ("n1", "n2", "n3", "n4")


def job(*nodes: str, name: str = "a", order: int = 1) -> Job:
    return Job((), tuple(NodeCommand(f"{name}-{node}", node, name) for node in nodes), nodes, order)


def test_targets_with_equal_commands_are_one_job() -> None:
    command = NodeCommand("run", "n1", "echo good")
    found = jobs_of(
        [target(command, subject="a"), target(command, subject="b"), target(NodeCommand("x", "n1", "true"))]
    )
    assert [len(each.targets) for each in found] == [2, 1]


def test_short_tests_of_a_node_run_first() -> None:
    late, early = target(NodeCommand("run", "n1", "slow"), check=Late()), target(NodeCommand("run", "n1", "fast"))
    assert [each.targets for each in jobs_of([late, early])] == [(early,), (late,)]


def test_without_a_cap_one_job_runs_at_a_time() -> None:
    power = PowerBudget(None, {})
    assert startable([job("n1"), job("n2")], [], power) == [job("n1")]
    assert startable([job("n2")], [job("n1")], power) == []


def test_under_a_cap_nodes_run_side_by_side_up_to_it() -> None:
    power = PowerBudget(21.0, dict.fromkeys(NODES, 10.0))
    assert [each.nodes for each in startable([job(node) for node in NODES], [], power)] == [("n1",), ("n2",)]


def test_a_pair_is_not_overtaken_on_its_nodes() -> None:
    power = PowerBudget(100.0, dict.fromkeys(NODES, 10.0))
    waiting = [job("n1", "n2"), job("n2", name="b"), job("n3", name="b")]
    assert [each.nodes for each in startable(waiting, [job("n1", name="c")], power)] == [("n3",)]


@pytest.mark.parametrize(
    ("node_kw", "word"), [({"n1": None}, "sizing.racks.node_kw"), ({"n1": 30.0}, "verify.power_cap_kw")]
)
def test_a_job_that_can_never_run_is_refused_with_the_key(node_kw: dict[str, float | None], word: str) -> None:
    assert word in PowerBudget(20.0, node_kw).refusal(job("n1"))


def test_a_job_below_the_cap_or_without_a_cap_is_not_refused() -> None:
    assert not PowerBudget(20.0, {"n1": 20.0}).refusal(job("n1"))
    assert not PowerBudget(None, {"n1": None}).refusal(job("n1"))


@given(
    groups=st.lists(st.lists(st.sampled_from(NODES), min_size=1, unique=True), max_size=12),
    cap_kw=st.sampled_from([None, 40.0, 55.0, 1000.0]),
    choice=st.randoms(use_true_random=False),
)
def test_every_job_runs_once_and_none_overlaps(groups: list[list[str]], cap_kw: float | None, choice: object) -> None:
    power = PowerBudget(cap_kw, dict.fromkeys(NODES, 10.0))
    waiting = [job(*nodes, name=str(number)) for number, nodes in enumerate(groups)]
    order = {node: [each for each in waiting if node in each.nodes] for node in NODES}
    running: list[Job] = []
    seen: list[Job] = []
    while waiting or running:
        started = startable(waiting, running, power)
        waiting = [each for each in waiting if each not in started]
        running += started
        seen += started
        assert running, "nothing runs, and jobs wait"
        nodes = [node for each in running for node in each.nodes]
        assert len(nodes) == len(set(nodes))
        assert cap_kw is None or power.of(nodes) <= cap_kw
        assert cap_kw is not None or len(running) == 1
        running.remove(choice.choice(running))  # type: ignore[attr-defined]
    assert len(seen) == len(groups)
    assert all([each for each in seen if node in each.nodes] == order[node] for node in NODES)
