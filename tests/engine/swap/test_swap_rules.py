"""Rules of a swap group under random requests, failures and kills of the agent: two engines never share the GPUs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from swap_agent import load

swap: Any = load("swap_state")
TOTAL, AWAKE, RESIDUE = 80.0, 72.0, 2.0
POOLS = ("chat", "code", "legal")
START_S, START_TIMEOUT_S = 20.0, 60.0
SERVED_S = 3600.0  # pauses after failures double up to 300 s


@dataclass
class Engine:
    """One engine as the world has it; the agent sees a part."""

    runs: bool = False
    ready_s: float = 0.0
    is_sleeping: bool = False
    gib: float = 0.0
    busy: int = 0
    is_open: bool = False
    has_answered: bool = False
    hangs: bool = False

    def end(self) -> None:
        self.runs = self.is_sleeping = self.has_answered = self.hangs = False
        self.gib, self.busy = 0.0, 0


class World:
    """GPUs with engines, and an agent that can be killed before or after each action."""

    def __init__(self) -> None:
        self.now = 0.0
        self.engines = {pool: Engine() for pool in POOLS}
        self.waiting: list[str] = []
        self.home: str | None = None
        self.control: Any = None
        self.done: Any = None
        self.faults: set[str] = set()  # actions whose next run fails
        self.is_memory_known = True
        self.served: list[str] = []

    def seen(self) -> Any:
        free = TOTAL - sum(each.gib for each in self.engines.values())
        rows = []
        for pool, each in self.engines.items():
            answers = each.runs and self.now >= each.ready_s and not each.hangs
            needed = AWAKE - (RESIDUE if each.runs else 0.0)
            rows.append(
                swap.Engine(
                    pool=pool,
                    unit_runs=each.runs,
                    is_sleeping=each.is_sleeping if answers else None,
                    busy=each.busy if answers else None,
                    is_open=each.is_open,
                    has_room=free >= needed if self.is_memory_known else None,
                    start_timeout_s=START_TIMEOUT_S,
                )
            )
        waiting = tuple(self.waiting)
        return swap.Seen(now_s=self.now, engines=tuple(rows), waiting=waiting, home=self.home, done=self.done)

    def step(self, *, dies_before: bool = False, dies_after: bool = False) -> None:
        seen = self.seen()
        control = swap.begin(seen) if self.control is None else self.control
        self.control, action = swap.step(control, seen)
        self.done = None
        if action is not None and not dies_before:
            self.done = (*action, self.act(*action))
        if dies_before or dies_after:
            self.control = self.done = None
        self.check()

    def act(self, action: str, pool: str) -> bool:
        engine = self.engines[pool]
        if action in self.faults:
            self.faults.discard(action)
            return False
        if action == swap.START:
            self.take(engine, AWAKE)
            engine.runs, engine.ready_s = True, self.now + START_S
        elif action == swap.KILL:
            engine.end()
            engine.is_open = False
        elif action in (swap.SLEEP, swap.ABORT):
            assert not engine.is_open, "an engine sleeps behind a closed proxy"
            assert action == swap.ABORT or not engine.busy
            engine.is_sleeping, engine.has_answered, engine.gib, engine.busy = True, False, RESIDUE, 0
        elif action == swap.WAKE:
            self.take(engine, AWAKE)
            engine.is_sleeping = False
        elif action == swap.PROBE:
            if engine.hangs or not engine.runs or engine.is_sleeping:
                return False
            engine.has_answered = True
        elif action == swap.OPEN:
            assert engine.runs
            assert not engine.is_sleeping
            assert engine.has_answered, "a proxy opens after an answer"
            engine.is_open = True
            self.served += [each for each in self.waiting if each == pool]
            self.waiting = [each for each in self.waiting if each != pool]
        elif action == swap.CLOSE:
            engine.is_open = False
        return True

    def take(self, engine: Engine, gib: float) -> None:
        assert self.is_memory_known, "the memory was not measured"
        engine.gib = 0.0
        assert sum(each.gib for each in self.engines.values()) + gib <= TOTAL, "the memory was not free"
        engine.gib = gib

    def check(self) -> None:
        large = [pool for pool, each in self.engines.items() if each.gib > RESIDUE]
        assert len(large) <= 1, f"{large} share the GPUs"
        assert sum(each.is_open for each in self.engines.values()) <= 1

    def second(self) -> None:
        for _ in range(12):
            self.step()
        self.now += 1.0
        for each in self.engines.values():
            each.busy = max(0, each.busy - 1)

    def request(self, pool: str) -> None:
        if self.engines[pool].is_open:
            self.engines[pool].busy += 1
        else:
            self.waiting.append(pool)

    def until_served(self) -> None:
        began = self.now
        while self.waiting or not any(each.is_open for each in self.engines.values()):
            assert self.now - began < SERVED_S, self.control
            self.second()


number = st.integers(0, 2)
EVENT = st.one_of(
    st.tuples(st.just("request"), number),
    st.tuples(st.just("second"), number),
    st.tuples(st.just("step"), number),
    st.tuples(st.just("dies before"), number),
    st.tuples(st.just("dies after"), number),
    st.tuples(st.just("crash"), number),
    st.tuples(st.just("hang"), number),
    st.tuples(st.just("home"), number),
    st.tuples(st.just("wait"), st.integers(1, 90)),
    st.tuples(st.just("memory"), number),
    st.tuples(st.sampled_from([swap.START, swap.SLEEP, swap.ABORT, swap.WAKE, swap.PROBE]), number),
)


def happen(world: World, name: str, value: int) -> None:
    pool = POOLS[value % len(POOLS)]
    engine = world.engines[pool]
    match name:
        case "request":
            world.request(pool)
        case "second":
            world.second()
        case "step":
            world.step()
        case "dies before" | "dies after":
            world.step(dies_before=name == "dies before", dies_after=name == "dies after")
        case "crash":
            engine.end()
        case "hang":
            engine.hangs = engine.runs
        case "home":
            world.home = pool
        case "wait":
            world.now += value
        case "memory":
            world.is_memory_known = not world.is_memory_known
        case _:
            world.faults.add(name)
    world.check()


@settings(max_examples=150, deadline=None)
@given(is_up=st.booleans(), events=st.lists(EVENT, max_size=60))
def test_random_failures_never_let_two_engines_share_gpus_and_every_request_gets_its_turn(
    is_up: bool, events: list[tuple[str, int]]
) -> None:
    world = World()
    if is_up:
        world.until_served()
    for event in events:
        happen(world, *event)
    world.is_memory_known = True
    world.faults.clear()
    for pool in POOLS:
        world.request(pool)
    world.until_served()
    if world.home is not None:
        began = world.now
        while not world.engines[world.home].is_open:
            assert world.now - began < SERVED_S, "the scheduled pool comes back"
            world.second()


@pytest.fixture
def world() -> World:
    """All engines started; the first pool is awake."""
    world = World()
    world.until_served()
    assert [each.is_sleeping for each in world.engines.values()] == [False, True, True]
    return world


def test_turns_are_given_in_the_order_of_arrival(world: World) -> None:
    for pool in ("legal", "code", "legal"):
        world.request(pool)
    world.until_served()
    assert world.served == ["legal", "legal", "code"]


def test_a_busy_pool_stays_awake_for_a_while_and_finishes_its_requests(world: World) -> None:
    world.engines["chat"].busy = 30
    opened = world.now
    world.request("code")
    while world.engines["chat"].is_open:
        world.second()
    assert world.now - opened >= swap.MIN_AWAKE_S - 1
    while not world.engines["chat"].is_sleeping:
        busy = world.engines["chat"].busy
        world.second()
    assert busy <= 1


def test_an_engine_that_reports_sleep_and_keeps_its_memory_is_ended(world: World) -> None:
    world.request("code")
    while not world.engines["chat"].is_sleeping:
        world.step()
        world.now += 0.3
    world.engines["chat"].gib = AWAKE
    seen = replace(world.seen(), done=world.done)
    assert swap.step(world.control, seen)[1] is None, "code does not wake without memory"
    while world.engines["chat"].runs:
        world.check()
        world.second()
    world.until_served()
    assert world.served == ["code"]


def test_an_engine_started_by_hand_beside_the_awake_one_is_ended(world: World) -> None:
    engine = world.engines["legal"]
    engine.is_sleeping, engine.ready_s = False, world.now + 1000
    for _ in range(int(swap.SILENCE_S) + 2):
        world.second()
    assert not engine.runs
    assert world.engines["chat"].is_open


@dataclass
class Clock:
    """Local time of a calendar."""

    hour: int
    minute: int = 0
    day: int = 1  # ISO: Monday
    fields: dict[str, int] = field(default_factory=dict)

    def isoweekday(self) -> int:
        return self.day


def test_calendar_and_forecast_name_the_pool_a_lead_time_ahead(tmp_path: Any) -> None:
    schedule = load("swap_schedule")
    day = {"days": "1-5", "start": "07:30", "end": "18:30"}
    night = {"days": "5-0", "start": "22:00", "end": "06:00"}
    assert [schedule.is_busy(day, Clock(7, minute)) for minute in (29, 30)] == [False, True]
    assert not schedule.is_busy(day, Clock(12, day=7))
    assert [schedule.is_busy(night, Clock(5, day=each)) for each in (5, 6, 7, 1, 2)] == [False, True, True, True, False]
    config = {
        "lead_s": 60,
        "timezone": "UTC",
        "engines": [{"pool": "chat", "awake_hours": [day]}, {"pool": "code", "awake_hours": []}],
    }
    path = tmp_path / "schedule.json"
    made = schedule.Schedule(config, path)
    monday = 4 * 86400  # 1970-01-05 00:00 UTC
    assert made.home(monday + 7.5 * 3600 - 61) is None
    assert made.home(monday + 7.5 * 3600 - 60) == "chat"
    evening = monday + 20 * 3600
    for requests in (0.0, 5.0):
        made.count("code", requests, evening)
    made.count("code", 0.0, evening + 1800)
    week = 7 * 86400
    assert made.home(evening + week - 61) is None
    assert made.home(evening + week - 60) == "code"
    again = schedule.Schedule(config, path)
    assert again.home(evening + week) == "code", "the file keeps the forecast"
    again.set_want("chat")
    assert schedule.Schedule(config, path).home(evening + week) == "chat"
    path.write_text("{")
    assert schedule.Schedule(config, path).home(evening + week) is None
