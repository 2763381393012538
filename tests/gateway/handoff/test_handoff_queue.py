"""The queue of hand-offs: what it promises to workers that share it, that die, and that are too many."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sovctl.compliance.errors import InputError
from sovctl.gateway.handoff.case import Case, State, is_id, new_id
from sovctl.gateway.handoff.queue import DUTY_S, Queue, QueueFailed, QueueFull
from sovctl.gateway.handoff.signature import wait_s

CASE = Case("", "r", "o", "retail", "m", "chat.completions", "ab" * 32, 1, ("citations:none",), {"tokens": 2}, 100, 500)


def case() -> Case:
    return replace(CASE, id=new_id())


def run(path: Path, work: Callable[[Queue], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        queue = Queue.open(path)
        try:
            await work(queue)
        finally:
            await queue.close()

    asyncio.run(main())


def test_what_was_put_in_comes_back_as_it_was(tmp_path: Path) -> None:
    made = case()

    async def put(queue: Queue) -> None:
        await queue.add(made, most_open=9, tell=False)

    async def get(queue: Queue) -> None:
        assert await queue.get(made.id) == made
        assert await queue.get(new_id()) is None

    run(tmp_path / "q", put)
    run(tmp_path / "q", get)
    assert (tmp_path / "q").stat().st_mode & 0o777 == 0o600


def test_it_holds_as_many_as_it_may_and_resolving_makes_room(tmp_path: Path) -> None:
    async def work(queue: Queue) -> None:
        first = case()
        await queue.add(first, most_open=2, tell=False)
        await queue.add(case(), most_open=2, tell=False)
        assert await queue.is_full(2)
        with pytest.raises(QueueFull):
            await queue.add(case(), most_open=2, tell=False)
        assert await queue.resolve(first.id, by="ops", answer=None, now=101, expires_at=600)
        await queue.add(case(), most_open=2, tell=False)

    run(tmp_path / "q", work)


def test_states_only_go_forward_and_an_operator_keeps_what_he_took(tmp_path: Path) -> None:
    async def work(queue: Queue) -> None:
        made = case()
        await queue.add(made, most_open=9, tell=True)
        assert await queue.take(made.id, by="anna", now=110, expires_at=510)
        assert not await queue.take(made.id, by="ben", now=111, expires_at=511)
        assert not await queue.resolve(made.id, by="ben", answer="a", now=112, expires_at=512)
        assert await queue.resolve(made.id, by="anna", answer="a", now=113, expires_at=513)
        assert not await queue.resolve(made.id, by="anna", answer="b", now=114, expires_at=514)
        found = await queue.get(made.id)
        assert found is not None
        assert (found.state, found.taken_at, found.resolved_at, found.answer) == (State.RESOLVED, 110, 113, "a")
        assert await queue.open_cases(most=9) == []
        assert await queue.due(now=1e9, most=9) == [], "nobody is told of what is done"

    run(tmp_path / "q", work)


def test_what_expired_is_forgotten(tmp_path: Path) -> None:
    async def work(queue: Queue) -> None:
        made = case()
        await queue.add(made, most_open=9, tell=True)
        await queue.forget(now=499)
        assert await queue.expired(now=499) == []
        assert await queue.expired(now=500) == [made]
        await queue.forget(now=500)
        assert await queue.get(made.id) is None
        assert await queue.due(now=1e9, most=9) == []

    run(tmp_path / "q", work)


def test_one_worker_is_on_duty_and_another_takes_over_when_it_dies(tmp_path: Path) -> None:
    async def work(queue: Queue) -> None:
        assert await queue.is_on_duty("a", now=0)
        assert not await queue.is_on_duty("b", now=1)
        assert await queue.is_on_duty("a", now=DUTY_S - 1)
        assert not await queue.is_on_duty("b", now=DUTY_S + 1), "a has said that it is still there"
        assert await queue.is_on_duty("b", now=2 * DUTY_S)
        assert not await queue.is_on_duty("a", now=2 * DUTY_S + 1)
        await queue.leave_duty("b")
        assert await queue.is_on_duty("a", now=2 * DUTY_S + 2)

    run(tmp_path / "q", work)


def test_the_webhook_is_due_until_it_was_heard(tmp_path: Path) -> None:
    async def work(queue: Queue) -> None:
        made = case()
        await queue.add(made, most_open=9, tell=True)
        assert [(due.case, due.attempts) for due in await queue.due(now=100, most=9)] == [(made, 0)]
        await queue.unheard(made.id, next_at=107)
        assert await queue.due(now=106, most=9) == []
        assert (await queue.census()).unheard_since == 100
        assert [due.attempts for due in await queue.due(now=107, most=9)] == [1]
        await queue.heard(made.id)
        assert await queue.due(now=1e9, most=9) == []
        assert (await queue.census()).unheard_since is None

    run(tmp_path / "q", work)


def test_another_kind_of_file_is_refused_and_a_broken_disk_is_said(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all, by its length" * 9)
    with pytest.raises(InputError):
        Queue.open(tmp_path / "text")
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE t (a)")
    other.close()
    with pytest.raises(InputError, match="another kind"):
        Queue.open(tmp_path / "other")

    async def work(queue: Queue) -> None:
        with sqlite3.connect(tmp_path / "q", isolation_level=None) as holder:
            holder.execute("BEGIN IMMEDIATE")
            with pytest.raises(QueueFailed):
                await queue.add(case(), most_open=9, tell=False)
            holder.execute("ROLLBACK")
        holder.close()
        await queue.add(case(), most_open=9, tell=False)

    run(tmp_path / "q", work)


_WRITER = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_handoff_queue import CASE
from sovctl.gateway.handoff.case import new_id
from sovctl.gateway.handoff.queue import Queue

async def main():
    queue = Queue.open(Path(sys.argv[1]))
    while True:
        made = replace(CASE, id=new_id())
        await queue.add(made, most_open=10_000, tell=True)
        print(made.id, flush=True)

asyncio.run(main())
"""


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _WRITER, str(tmp_path / "q"), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline().strip() for _ in range(20)]
        os.kill(writer.pid, signal.SIGKILL)
        told += [line.strip() for line in writer.stdout if is_id(line.strip())]

    async def work(queue: Queue) -> None:
        kept = {each.id for each in await queue.open_cases(most=10_000)}
        assert set(told) <= kept
        assert {due.case.id for due in await queue.due(now=1e9, most=10_000)} == kept

    run(tmp_path / "q", work)


@given(st.lists(st.sampled_from(["take anna", "take ben", "resolve anna", "resolve ben"]), max_size=12))
@settings(max_examples=40, deadline=None)
def test_whatever_operators_do_one_of_them_ends_it_once(tmp_path_factory: Any, steps: list[str]) -> None:
    async def work(queue: Queue) -> None:
        made = case()
        await queue.add(made, most_open=9, tell=False)
        done = []
        for number, step in enumerate(steps):
            word, by = step.split()
            if word == "take":
                changed = await queue.take(made.id, by=by, now=number, expires_at=900)
            else:
                changed = await queue.resolve(made.id, by=by, answer=None, now=number, expires_at=900)
            done += [(word, by)] if changed else []
        assert done in [[], *([("take", b)] for b in ("anna", "ben"))] or done[-1][0] == "resolve"
        assert [word for word, _ in done] in ([], ["take"], ["resolve"], ["take", "resolve"])
        assert len({by for _, by in done}) <= 1

    run(tmp_path_factory.mktemp("q") / "q", work)


@given(st.integers(0, 10**6), st.floats(0, 1))
def test_waiting_grows_with_attempts_and_has_an_end(attempts: int, jitter: float) -> None:
    assert 0.5 <= wait_s(attempts, jitter) <= 300
    assert wait_s(attempts + 1, 0) >= wait_s(attempts, 0)
