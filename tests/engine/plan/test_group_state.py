"""Ranks of a group under random failures: never two generations at once, and one running generation once all live."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sovctl.engine.resources.context import ROLES


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("group_state", ROLES / "pool" / "files" / "group_state.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


group: Any = _load()
START_TIMEOUT_S = 60.0
SETTLED_S = 2 * (group.LONGEST_PAUSE_S + group.KILL_AFTER_S + group.SILENCE_S)


@dataclass
class Rank:
    """One node: its agent, which a restart replaces, and its unit, which outlives the agent."""

    member: Any
    reports: dict[int, Any] = field(default_factory=dict)
    generation: int | None = None  # of the running unit
    hangs: bool = False
    stops_at: float | None = None


class Cluster:
    """Ranks on nodes whose messages can be lost or late."""

    def __init__(self, size: int) -> None:
        self.now, self.size, self.boots = 0.0, size, 0
        self.ranks = [Rank(self._agent(index)) for index in range(size)]
        self.late: list[tuple[int, str, Any]] = []
        self.cut: set[frozenset[int]] = set()
        self.starts = 0

    def _agent(self, index: int) -> Any:
        self.boots += 1
        return group.Member(index, self.size, f"boot{self.boots}", START_TIMEOUT_S, since_s=self.now)

    def poll(self, reader: int, read: int, *, is_late: bool = False) -> None:
        """Rank `reader` requests the report of `read`; a late answer is delivered by `deliver`."""
        if reader == read or frozenset((reader, read)) in self.cut:
            return
        answer = (reader, self.ranks[reader].member.boot, self.ranks[read].member.report())
        if is_late:
            self.late.append(answer)
        else:
            self._receive(*answer)

    def deliver(self, index: int) -> None:
        if self.late:
            self._receive(*self.late.pop(index % len(self.late)))

    def _receive(self, reader: int, boot: str, report: Any) -> None:
        rank = self.ranks[reader]
        if rank.member.boot == boot:  # an answer belongs to the agent that asked
            rank.reports[report.rank] = replace(report, received_s=self.now)

    def tick(self, index: int) -> None:
        rank = self.ranks[index]
        if rank.stops_at is not None and self.now >= rank.stops_at:
            rank.generation, rank.stops_at = None, None
        is_ready = all(each.generation == rank.generation is not None for each in self.ranks)
        seen = group.Observation(self.now, rank.generation is not None, "weights", is_ready, dict(rank.reports))
        rank.member, action = group.step(rank.member, seen)
        if action == group.START:
            assert rank.generation is None, "a unit is started once"
            rank.generation = rank.member.generation
            self.starts += 1
        elif action == group.STOP and not rank.hangs:
            rank.stops_at = self.now + 2
        elif action == group.KILL:
            rank.generation, rank.hangs, rank.stops_at = None, False, None
        self.check()

    def check(self) -> None:
        running = {each.generation for each in self.ranks if each.generation is not None}
        assert len(running) <= 1, f"generations {running} run at the same time"

    def crash_unit(self, index: int) -> None:
        self.ranks[index].generation = None
        self.ranks[index].stops_at = None

    def restart_agent(self, index: int) -> None:
        self.ranks[index].member = self._agent(index)
        self.ranks[index].reports = {}

    def toggle_link(self, one: int, other: int) -> None:
        if one != other:
            self.cut ^= {frozenset((one, other))}

    def second(self, seconds: float = 1.0) -> None:
        """Every rank polls all others and steps; then time passes."""
        for reader in range(self.size):
            for read in range(self.size):
                self.poll(reader, read)
        for index in range(self.size):
            self.tick(index)
        self.now += seconds

    def until(self, condition: Callable[[], bool], limit_s: float) -> float:
        began = self.now
        while not condition():
            assert self.now - began <= limit_s, [each.member for each in self.ranks]
            self.second()
        return self.now - began

    def serves(self) -> bool:
        members = [each.member for each in self.ranks]
        boots = {each.rank: each.boot for each in members}
        units = {each.generation for each in self.ranks} | {each.generation for each in members}
        return len(units) == 1 and all(
            each.state == group.RUNNING and {**dict(each.boots), each.rank: each.boot} == boots for each in members
        )


index = st.integers(0, 3)
EVENT = st.one_of(
    st.tuples(st.just("poll"), index, index),
    st.tuples(st.just("late"), index, index),
    st.tuples(st.just("deliver"), index, index),
    st.tuples(st.just("tick"), index, index),
    st.tuples(st.just("second"), index, index),
    st.tuples(st.just("wait"), st.integers(1, 40), index),
    st.tuples(st.just("crash"), index, index),
    st.tuples(st.just("restart"), index, index),
    st.tuples(st.just("link"), index, index),
    st.tuples(st.just("hang"), index, index),
)


def happen(cluster: Cluster, name: str, one: int, other: int) -> None:
    a, b = one % cluster.size, other % cluster.size
    actions: dict[str, Callable[[], None]] = {
        "poll": lambda: cluster.poll(a, b),
        "late": lambda: cluster.poll(a, b, is_late=True),
        "deliver": lambda: cluster.deliver(one),
        "tick": lambda: cluster.tick(a),
        "second": cluster.second,
        "crash": lambda: cluster.crash_unit(a),
        "restart": lambda: cluster.restart_agent(a),
        "link": lambda: cluster.toggle_link(a, b),
    }
    if name == "wait":
        cluster.now += one
    elif name == "hang":
        cluster.ranks[a].hangs = cluster.ranks[a].generation is not None
    else:
        actions[name]()
    cluster.check()


@settings(max_examples=400, deadline=None)
@given(size=st.integers(2, 4), is_up=st.booleans(), events=st.lists(EVENT, max_size=80))
def test_random_failures_never_run_two_generations_and_always_end_in_one(
    size: int, is_up: bool, events: list[tuple[str, int, int]]
) -> None:
    cluster = Cluster(size)
    if is_up:
        cluster.until(cluster.serves, 10)
    for event in events:
        happen(cluster, *event)
    cluster.cut.clear()
    cluster.late.clear()
    cluster.until(cluster.serves, SETTLED_S)
    starts = cluster.starts
    for _ in range(120):
        cluster.second()
        assert cluster.serves(), "a group whose ranks all live does not flap"
    assert cluster.starts == starts


@pytest.fixture
def pair() -> Cluster:
    cluster = Cluster(2)
    cluster.until(cluster.serves, 10)
    return cluster


@pytest.mark.parametrize("rank", [0, 1])
def test_a_unit_that_ends_restarts_all_ranks_in_a_new_generation(pair: Cluster, rank: int) -> None:
    before = pair.ranks[0].member.generation
    pair.crash_unit(rank)
    pair.until(lambda: not pair.serves(), 5)
    pair.until(pair.serves, 30)
    assert pair.ranks[0].member.generation > before
    assert pair.starts == 4


@pytest.mark.parametrize("rank", [0, 1])
def test_an_agent_that_restarts_unseen_does_not_rejoin_its_generation(pair: Cluster, rank: int) -> None:
    before = pair.ranks[rank].member.generation
    pair.restart_agent(rank)
    pair.until(lambda: pair.serves() and pair.ranks[0].member.generation > before, 60)


def test_both_sides_of_a_cut_link_stop_and_stay_stopped_until_it_is_back(pair: Cluster) -> None:
    pair.toggle_link(0, 1)
    pair.until(lambda: all(each.generation is None for each in pair.ranks), group.SILENCE_S + 5)
    for _ in range(200):
        pair.second()
        assert all(each.generation is None for each in pair.ranks)
    pair.toggle_link(0, 1)
    pair.until(pair.serves, 30)


def test_a_unit_that_does_not_stop_is_killed(pair: Cluster) -> None:
    pair.ranks[1].hangs = True
    pair.crash_unit(0)
    took = pair.until(lambda: pair.ranks[1].generation is None, group.KILL_AFTER_S + 5)
    assert took >= group.KILL_AFTER_S


def test_ranks_with_other_weights_or_unverified_ones_do_not_start() -> None:
    for digest in ("other", ""):
        report = group.Report(1, "b", group.WAITING, 1, digest, received_s=0.0)
        head = group.Member(0, 2, "a", START_TIMEOUT_S, state=group.WAITING, generation=1)
        head, action = group.step(head, group.Observation(1.0, False, "weights", False, {1: report}))
        assert (head.state, action, head.reason) == (group.WAITING, None, "rank 1 has other weights")
    unverified, action = group.step(head, group.Observation(1.0, False, "", False, {1: report}))
    assert (unverified.state, action, unverified.reason) == (group.WAITING, None, "the weights are not verified")


def test_a_start_that_takes_too_long_is_repeated_after_a_pause_that_grows_to_a_limit() -> None:
    report = group.Report(1, "b", group.RUNNING, 1, "weights")
    running = {"state": group.RUNNING, "generation": 1, "boots": ((1, "b"),)}
    head = group.Member(0, 2, "a", START_TIMEOUT_S, **running)
    for now_s, state in ((START_TIMEOUT_S - 1, group.RUNNING), (START_TIMEOUT_S, group.DOWN)):
        seen = group.Observation(now_s, True, "weights", False, {1: replace(report, received_s=now_s)})
        head, action = group.step(head, seen)
        assert head.state == state
    assert (action, head.reason) == (group.STOP, "not ready within 60 s")
    pauses = [group.pause_s(count) for count in range(9)]
    assert pauses == [0, 5, 10, 20, 40, 80, 120, 120, 120]


@pytest.mark.parametrize(("failures", "limit_s"), [(0, 60), (1, 120), (3, 240), (9, 240)])
def test_the_limit_of_a_start_grows_with_the_failures(failures: int, limit_s: float) -> None:
    report = group.Report(1, "b", group.RUNNING, 1, "weights")
    head = group.Member(0, 2, "a", 60.0, state=group.RUNNING, generation=1, boots=((1, "b"),), failures=failures)
    for now_s, state in ((limit_s - 1, group.RUNNING), (limit_s, group.DOWN)):
        seen = group.Observation(now_s, True, "weights", False, {1: replace(report, received_s=now_s)})
        assert group.step(head, seen)[0].state == state


def test_failures_are_forgotten_after_ten_minutes_of_service(pair: Cluster) -> None:
    pair.crash_unit(1)
    pair.until(lambda: pair.serves() and pair.ranks[0].member.failures == 1, 60)
    pair.until(lambda: pair.ranks[0].member.failures == 0, group.STABLE_S + 10)
