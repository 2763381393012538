"""The queue of hand-offs: what it promises to workers that share it, that die, and that are too many."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from postgresql_server import DATABASE, PASSWORD, PostgresqlServer

from examples import examples
from sovctl.gateway.handoff.case import HandoffCase, State, is_id, new_id
from sovctl.gateway.handoff.postgresql_tables import SCHEMA, PostgresqlTables
from sovctl.gateway.handoff.queue import WEBHOOK_LEASE_S, Queue, QueueFull
from sovctl.gateway.handoff.signature import wait_s
from sovctl.gateway.handoff.sqlite_tables import KIND, SqliteTables
from sovctl.gateway.handoff.tables import QueueFailed, Tables
from sovctl.gateway.settings import PostgresqlSettings
from sovctl.gateway.storage.postgresql import Address
from sovctl.gateway.storage.sqlite import SqliteDatabase
from sovctl.support.errors import InputError

CASE = HandoffCase(
    "", "r", "o", "retail", "m", "chat.completions", "ab" * 32, 1, ("citations:none",), {"tokens": 2}, 100, 500
)


def case() -> HandoffCase:
    return replace(CASE, id=new_id())


class SqlitePlace:
    """A folder with a queue's file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "handoffs.db"

    async def tables(self) -> Tables:
        return SqliteTables.open(self.path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Somebody else writes, and does not end."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")

    def script(self) -> str:
        """Python lines that define `async def tables()`, for another process."""
        return (
            "from pathlib import Path\nfrom sovctl.gateway.handoff.sqlite_tables import SqliteTables\n"
            f"async def tables(): return SqliteTables.open(Path({str(self.path)!r}))\n"
        )


class PostgresqlPlace:
    """An empty schema of a real server."""

    def __init__(self, server: PostgresqlServer, folder: Path) -> None:
        self.server = server
        server.psql(f"DROP SCHEMA IF EXISTS {SCHEMA.name} CASCADE")
        (folder / "password").write_text(PASSWORD)
        (folder / "password").chmod(0o600)
        self.settings = {
            "host": "127.0.0.1",
            "port": server.port,
            "database": DATABASE,
            "password_file": str(folder / "password"),
            "ca_file": str(server.ca_file),
            "statement_timeout_s": 20,
        }

    async def tables(self) -> Tables:
        return await PostgresqlTables.open(Address.of(PostgresqlSettings.model_validate(self.settings)))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The server is gone."""
        self.server.kill()
        yield
        self.server.start()

    def script(self) -> str:
        """As there."""
        return (
            "from sovctl.gateway.settings import PostgresqlSettings\n"
            "from sovctl.gateway.storage.postgresql import Address\n"
            "from sovctl.gateway.handoff.postgresql_tables import PostgresqlTables\n"
            f"settings = PostgresqlSettings.model_validate({self.settings!r})\n"
            "async def tables(): return await PostgresqlTables.open(Address.of(settings))\n"
        )


Place = SqlitePlace | PostgresqlPlace


@pytest.fixture
def sqlite_place(tmp_path: Path) -> SqlitePlace:
    return SqlitePlace(tmp_path)


@pytest.fixture
def postgresql_place(postgresql: PostgresqlServer, tmp_path: Path) -> PostgresqlPlace:
    return PostgresqlPlace(postgresql, tmp_path)


@pytest.fixture(params=["sqlite_place", "postgresql_place"], ids=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest) -> Place:
    """A new place, of each kind."""
    found: Place = request.getfixturevalue(request.param)
    return found


def run(place: Place, work: Callable[[Queue], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        queue = Queue(await place.tables())
        try:
            await work(queue)
        finally:
            await queue.close()

    asyncio.run(main())


def test_what_was_put_in_comes_back_as_it_was(place: Place) -> None:
    made = case()

    async def put(queue: Queue) -> None:
        await queue.add(made, most_open=9, tell=False)

    async def get(queue: Queue) -> None:
        assert await queue.get(made.id) == made
        assert await queue.get(new_id()) is None

    run(place, put)
    run(place, get)


def test_it_holds_as_many_as_it_may_and_resolving_makes_room(place: Place) -> None:
    async def work(queue: Queue) -> None:
        first = case()
        await queue.add(first, most_open=2, tell=False)
        await queue.add(case(), most_open=2, tell=False)
        assert await queue.is_full(2)
        with pytest.raises(QueueFull):
            await queue.add(case(), most_open=2, tell=False)
        assert await queue.resolve(first.id, by="ops", answer=None, now=101, expires_at=600)
        await queue.add(case(), most_open=2, tell=False)

    run(place, work)


def test_states_only_go_forward_and_an_operator_keeps_what_he_took(place: Place) -> None:
    async def work(queue: Queue) -> None:
        made = case()
        await queue.add(made, most_open=9, tell=True)
        assert await queue.take(made.id, by="anna", now=110, expires_at=510)
        assert not await queue.take(made.id, by="ben", now=111, expires_at=511)
        assert not await queue.resolve(made.id, by="ben", answer="a", now=112, expires_at=512)
        assert len(await queue.due(now=1e9, most=9)) == 1, "who has no say changes nothing"
        assert await queue.resolve(made.id, by="anna", answer="a", now=113, expires_at=513)
        assert not await queue.resolve(made.id, by="anna", answer="b", now=114, expires_at=514)
        found = await queue.get(made.id)
        assert found is not None
        assert (found.state, found.taken_at, found.resolved_at, found.answer) == (State.RESOLVED, 110, 113, "a")
        assert await queue.open_cases(most=9) == []
        assert await queue.due(now=1e9, most=9) == [], "nobody is told of what is done"

    run(place, work)


def test_what_expired_is_forgotten(place: Place) -> None:
    async def work(queue: Queue) -> None:
        made = case()
        await queue.add(made, most_open=9, tell=True)
        await queue.forget(now=499)
        assert await queue.expired(now=499) == []
        assert await queue.expired(now=500) == [made]
        await queue.forget(now=500)
        assert await queue.get(made.id) is None
        assert await queue.due(now=1e9, most=9) == []

    run(place, work)


def test_one_worker_is_on_duty_and_another_takes_over_when_it_dies(place: Place) -> None:
    async def work(queue: Queue) -> None:
        assert await queue.holds_webhook_lease("a", now=0)
        assert not await queue.holds_webhook_lease("b", now=1)
        assert await queue.holds_webhook_lease("a", now=WEBHOOK_LEASE_S - 1)
        assert not await queue.holds_webhook_lease("b", now=WEBHOOK_LEASE_S + 1), "a has said that it is still there"
        assert await queue.holds_webhook_lease("b", now=2 * WEBHOOK_LEASE_S)
        assert not await queue.holds_webhook_lease("a", now=2 * WEBHOOK_LEASE_S + 1)
        await queue.release_webhook_lease("b")
        assert await queue.holds_webhook_lease("a", now=2 * WEBHOOK_LEASE_S + 2)

    run(place, work)


def test_the_webhook_is_due_until_it_was_heard(place: Place) -> None:
    async def work(queue: Queue) -> None:
        made = case()
        await queue.add(made, most_open=9, tell=True)
        assert [(due.case, due.attempts) for due in await queue.due(now=100, most=9)] == [(made, 0)]
        await queue.failed(made.id, next_at=107)
        assert await queue.due(now=106, most=9) == []
        assert (await queue.counts()).failing_since == 100
        assert [due.attempts for due in await queue.due(now=107, most=9)] == [1]
        await queue.delivered(made.id)
        assert await queue.due(now=1e9, most=9) == []
        assert (await queue.counts()).failing_since is None

    run(place, work)


def test_another_kind_of_file_is_refused_and_a_new_one_is_ours_alone(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all, by its length" * 9)
    with pytest.raises(InputError):
        SqliteTables.open(tmp_path / "text")
    with closing(sqlite3.connect(tmp_path / "other")) as other:
        other.execute("CREATE TABLE t (a)")
    with pytest.raises(InputError, match="another kind"):
        SqliteTables.open(tmp_path / "other")
    with closing(sqlite3.connect(tmp_path / "newer")) as newer:
        newer.execute("PRAGMA application_id = 0x736F7668")
        newer.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="another kind"):
        SqliteTables.open(tmp_path / "newer")
    asyncio.run(SqliteTables.open(tmp_path / "new").close())
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


def test_a_schema_of_a_newer_version_is_refused(postgresql_place: PostgresqlPlace) -> None:
    async def nothing(_queue: Queue) -> None:
        pass

    run(postgresql_place, nothing)
    postgresql_place.server.psql(f"UPDATE {SCHEMA.name}.meta SET version = 99")
    with pytest.raises(InputError, match="got 99"):
        run(postgresql_place, nothing)


def test_what_cannot_be_written_is_said_and_works_again_afterwards(place: Place) -> None:
    async def work(queue: Queue) -> None:
        with place.locked(), pytest.raises(QueueFailed) as caught:
            await queue.add(case(), most_open=9, tell=False)
        assert PASSWORD not in f"{caught.value} {caught.value.hint}"
        async with asyncio.timeout(60):
            while True:
                with suppress(QueueFailed):  # there is a pause between two attempts to connect
                    await queue.add(case(), most_open=9, tell=False)
                    break
                await asyncio.sleep(0.05)
        assert (await queue.counts()).open == 1

    run(place, work)


class HangingDatabase(SqliteDatabase):
    """A real file whose disk hangs until it is let go."""

    goes_on: asyncio.Event

    async def write(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        await self.goes_on.wait()
        return await super().write(work)


def test_a_disk_that_hangs_is_said_and_what_was_begun_is_kept_whole(tmp_path: Path) -> None:
    async def main() -> None:
        database = HangingDatabase.open(tmp_path / "handoffs.db", KIND)
        database.goes_on = asyncio.Event()
        tables = SqliteTables(database, disk_timeout_s=0.05)
        queue = Queue(tables)
        first, second, third = case(), case(), case()
        for each in (first, second):  # the second at once: nothing is put behind what hangs
            with pytest.raises(QueueFailed, match="has not answered"):
                await queue.add(each, most_open=9, tell=True)
        tables._disk_timeout_s = 60  # the real disk may take longer than it had
        database.goes_on.set()
        async with asyncio.timeout(60):
            await added_at_last(queue, third)
        await queue.close()
        after = Queue(SqliteTables.open(tmp_path / "handoffs.db"))
        assert {each.id for each in await after.open_cases(most=9)} == {first.id, third.id}
        await after.close()

    asyncio.run(main())


async def added_at_last(queue: Queue, each: HandoffCase) -> None:
    while True:
        with suppress(QueueFailed):
            return await queue.add(each, most_open=9, tell=True)
        await asyncio.sleep(0.01)


def test_no_two_writers_pass_the_limit_together(place: Place) -> None:
    async def main() -> None:
        queues = [Queue(await place.tables()) for _ in range(4)]
        try:
            adding = [queue.add(case(), most_open=10, tell=True) for queue in queues for _ in range(8)]
            done = await asyncio.gather(*adding, return_exceptions=True)
            assert sorted(type(each).__name__ for each in done) == ["NoneType"] * 10 + ["QueueFull"] * 22
            assert len(await queues[0].due(now=1e9, most=99)) == (await queues[1].counts()).open == 10
        finally:
            for queue in queues:
                await queue.close()

    asyncio.run(main())


_WRITER = """
import asyncio
from sovctl.gateway.handoff.case import HandoffCase, new_id
from sovctl.gateway.handoff.queue import Queue

async def main():
    queue = Queue(await tables())
    while True:
        made = HandoffCase(new_id(), "r", "o", "retail", "m", "chat.completions", "ab" * 32, 1, (), {}, 100, 500)
        await queue.add(made, most_open=10_000, tell=True)
        print(made.id, flush=True)

asyncio.run(main())
"""


def test_nothing_acknowledged_is_lost_by_kill_9(place: Place) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", place.script() + _WRITER], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline().strip() for _ in range(20)]
        os.kill(writer.pid, signal.SIGKILL)
        told += [line.strip() for line in writer.stdout if is_id(line.strip())]

    async def work(queue: Queue) -> None:
        kept = {each.id for each in await queue.open_cases(most=10_000)}
        assert set(told) <= kept
        assert {due.case.id for due in await queue.due(now=1e9, most=10_000)} == kept

    run(place, work)


@given(st.lists(st.sampled_from(["take anna", "take ben", "resolve anna", "resolve ben"]), max_size=12))
@examples(40)
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

    run(SqlitePlace(tmp_path_factory.mktemp("q")), work)


@given(st.integers(0, 10**6), st.floats(0, 1))
def test_waiting_grows_with_attempts_and_has_an_end(attempts: int, jitter: float) -> None:
    assert 0.5 <= wait_s(attempts, jitter) <= 300
    assert wait_s(attempts + 1, 0) >= wait_s(attempts, 0)
