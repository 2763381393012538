"""The hand-offs of one host, in one SQLite file for all its workers. What was committed survives kill -9.

cases       one row a hand-off: ids, codes, counts, times
outbox      what the webhook is still to be told
duty        which worker tells it, and until when: a worker that dies loses that in `DUTY_S`

queue = Queue.open(Path("handoffs.db"))
await queue.add(case, most_open=1000, tell=True)
await queue.take(case.id, by="ops", now=...)
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import orjson

from sovctl.compliance.errors import InputError, SovctlError
from sovctl.gateway.handoff.case import Case, State

DUTY_S = 10.0
"""Longer than a webhook may take to answer twice over, shorter than anybody would notice."""
_BUSY_S = 2.0  # a commit takes about 1 ms; whoever waits longer than this is told that there is no queue
_APPLICATION_ID = 0x736F7668  # "sovh"
_VERSION = 1
_SCHEMA = """
CREATE TABLE cases (
    id TEXT PRIMARY KEY, request_id TEXT NOT NULL, owner TEXT NOT NULL, tenant TEXT NOT NULL, model TEXT NOT NULL,
    surface TEXT NOT NULL, conversation TEXT NOT NULL, key_version INTEGER NOT NULL, reasons TEXT NOT NULL,
    counts TEXT NOT NULL, made_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, state TEXT NOT NULL,
    taken_at INTEGER, taken_by TEXT, resolved_at INTEGER, answer TEXT
) WITHOUT ROWID;
CREATE INDEX cases_by_state ON cases (state, made_at);
CREATE INDEX cases_by_end ON cases (expires_at);
CREATE TABLE outbox (
    case_id TEXT PRIMARY KEY, attempts INTEGER NOT NULL, next_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE duty (id INTEGER PRIMARY KEY CHECK (id = 1), holder TEXT NOT NULL, until REAL NOT NULL);
"""
_COLUMNS = (
    "id, request_id, owner, tenant, model, surface, conversation, key_version, reasons, counts, made_at, expires_at, "
    "state, taken_at, taken_by, resolved_at, answer"
)
_OPEN = "state IN ('waiting', 'taken')"
_Result = TypeVar("_Result")


class QueueFailed(SovctlError):
    """The queue can't be read or written."""


class QueueFull(Exception):
    """As many hand-offs are open as may be."""


@dataclass(frozen=True, slots=True)
class Census:
    """How the queue stands."""

    open: int
    oldest_waiting: int | None
    """When it was made; None when none waits."""
    unheard_since: int | None
    """Since when the webhook does not hear of the oldest hand-off that it was told of in vain."""


@dataclass(frozen=True, slots=True)
class Due:
    """A hand-off of which the webhook is to be told now."""

    case: Case
    attempts: int


class Queue:
    """The queue of one host. Made by `open`."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self._path = path
        self._database = database
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hand-offs")

    @classmethod
    def open(cls, path: Path) -> Queue:
        """Open the file; it is made when absent.

        Raises:
            InputError: not a file of this kind, or not to be opened.
        """
        database: sqlite3.Connection | None = None
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            database = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_S, check_same_thread=False)
            _prepare(database)
        except (OSError, sqlite3.Error) as error:
            if database is not None:
                database.close()
            raise InputError(f"expected a queue of hand-offs, got: {_reason(error)}", where=str(path)) from error
        return cls(path, database)

    async def add(self, case: Case, *, most_open: int, tell: bool) -> None:
        """Put a hand-off in the queue; durable when this returns.

        Args:
            tell: the webhook, too.

        Raises:
            QueueFull: nothing was added.
            QueueFailed: not durable.
        """

        def write(database: sqlite3.Connection) -> None:
            if _open_cases(database) >= most_open:
                raise QueueFull
            database.execute(f"INSERT INTO cases VALUES ({', '.join('?' * 17)})", _values(case))  # noqa: S608
            if tell:
                database.execute("INSERT INTO outbox VALUES (?, 0, ?)", (case.id, case.made_at))

        await self._do(write)

    async def is_full(self, most_open: int) -> bool:
        """True when nothing can be added now."""
        return await self._read(lambda database: _open_cases(database) >= most_open)

    async def get(self, case_id: str) -> Case | None:
        """A hand-off that is not forgotten."""

        def read(database: sqlite3.Connection) -> Case | None:
            row = database.execute(f"SELECT {_COLUMNS} FROM cases WHERE id = ?", (case_id,)).fetchone()  # noqa: S608
            return _case(row) if row is not None else None

        return await self._read(read)

    async def open_cases(self, *, most: int) -> list[Case]:
        """Those that wait or are taken, the oldest first."""

        def read(database: sqlite3.Connection) -> list[Case]:
            rows = database.execute(
                f"SELECT {_COLUMNS} FROM cases WHERE {_OPEN} ORDER BY made_at, id LIMIT ?",  # noqa: S608
                (most,),
            )
            return [_case(row) for row in rows]

        return await self._read(read)

    async def take(self, case_id: str, *, by: str, now: int, expires_at: int) -> bool:
        """Give a waiting hand-off to an operator; False when it does not wait."""
        return await self._do(
            lambda database: (
                database.execute(
                    "UPDATE cases SET state = 'taken', taken_at = ?, taken_by = ?, expires_at = max(expires_at, ?) "
                    "WHERE id = ? AND state = 'waiting'",
                    (now, by, expires_at, case_id),
                ).rowcount
                == 1
            )
        )

    async def resolve(self, case_id: str, *, by: str, answer: str | None, now: int, expires_at: int) -> bool:
        """End a hand-off; False when it is no longer open, or another operator has it.

        Args:
            answer: what the vault calls it.
        """

        def write(database: sqlite3.Connection) -> bool:
            changed = database.execute(
                "UPDATE cases SET state = 'resolved', resolved_at = ?, taken_by = ?, answer = ?, "
                "expires_at = max(expires_at, ?) "
                "WHERE id = ? AND state != 'resolved' AND (taken_by IS NULL OR taken_by = ?)",
                (now, by, answer, expires_at, case_id, by),
            ).rowcount
            database.execute("DELETE FROM outbox WHERE case_id = ?", (case_id,))
            return changed == 1

        return await self._do(write)

    async def expired(self, *, now: int) -> list[Case]:
        """What can no longer be read."""

        def read(database: sqlite3.Connection) -> list[Case]:
            rows = database.execute(f"SELECT {_COLUMNS} FROM cases WHERE expires_at <= ?", (now,))  # noqa: S608
            return [_case(row) for row in rows]

        return await self._read(read)

    async def forget(self, *, now: int) -> None:
        """Remove what has expired."""

        def write(database: sqlite3.Connection) -> None:
            database.execute("DELETE FROM outbox WHERE case_id IN (SELECT id FROM cases WHERE expires_at <= ?)", (now,))
            database.execute("DELETE FROM cases WHERE expires_at <= ?", (now,))

        await self._do(write)

    async def census(self) -> Census:
        """How the queue stands."""

        def read(database: sqlite3.Connection) -> Census:
            (oldest,) = database.execute("SELECT min(made_at) FROM cases WHERE state = 'waiting'").fetchone()
            (unheard,) = database.execute(
                "SELECT min(made_at) FROM cases JOIN outbox ON id = case_id WHERE attempts > 0"
            ).fetchone()
            return Census(_open_cases(database), oldest, unheard)

        return await self._read(read)

    async def is_on_duty(self, holder: str, *, now: float) -> bool:
        """True when this worker is the one that tells the webhook; it writes only when that changes or ends soon."""

        def read(database: sqlite3.Connection) -> tuple[str, float] | None:
            found: tuple[str, float] | None = database.execute("SELECT holder, until FROM duty").fetchone()
            return found

        def write(database: sqlite3.Connection) -> bool:
            return (
                database.execute(
                    "INSERT INTO duty VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE "
                    "SET holder = excluded.holder, until = excluded.until WHERE holder = ? OR until <= ?",
                    (holder, now + DUTY_S, holder, now),
                ).rowcount
                == 1
            )

        row = await self._read(read)
        if row is not None and row[1] > now:
            if row[0] != holder:
                return False
            if row[1] - now > DUTY_S / 2:
                return True
        return await self._do(write)

    async def leave_duty(self, holder: str) -> None:
        """Another worker may tell the webhook at once."""
        await self._do(lambda database: database.execute("DELETE FROM duty WHERE holder = ?", (holder,)))

    async def due(self, *, now: float, most: int) -> list[Due]:
        """Of what the webhook is to be told now, the longest due first."""

        def read(database: sqlite3.Connection) -> list[Due]:
            rows = database.execute(
                f"SELECT {_COLUMNS}, attempts FROM cases JOIN outbox ON id = case_id "  # noqa: S608
                "WHERE next_at <= ? ORDER BY next_at LIMIT ?",
                (now, most),
            )
            return [Due(_case(row[:-1]), row[-1]) for row in rows]

        return await self._read(read)

    async def heard(self, case_id: str) -> None:
        """The webhook has taken it."""
        await self._do(lambda database: database.execute("DELETE FROM outbox WHERE case_id = ?", (case_id,)))

    async def unheard(self, case_id: str, *, next_at: float) -> None:
        """It has not; it is told again."""
        await self._do(
            lambda database: database.execute(
                "UPDATE outbox SET attempts = attempts + 1, next_at = ? WHERE case_id = ?", (next_at, case_id)
            )
        )

    async def close(self) -> None:
        """Let go of the file."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._database.close)
        self._thread.shutdown()

    async def _read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        return await self._in_thread(work, is_writing=False)

    async def _do(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        return await self._in_thread(work, is_writing=True)

    async def _in_thread(self, work: Callable[[sqlite3.Connection], _Result], *, is_writing: bool) -> _Result:
        database = self._database

        def run() -> _Result:
            try:
                if not is_writing:
                    return work(database)
                database.execute("BEGIN IMMEDIATE")
                result = work(database)
                database.execute("COMMIT")
            except sqlite3.Error as error:
                raise QueueFailed(
                    f"expected a queue of hand-offs, got: {_reason(error)}",
                    where=str(self._path),
                    hint="is the disk full?",
                ) from error
            else:
                return result
            finally:
                if database.in_transaction:
                    database.execute("ROLLBACK")

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)


def _prepare(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")  # a client was told that somebody will look at it
    database.execute("PRAGMA secure_delete = ON")
    database.execute("BEGIN IMMEDIATE")
    (found,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if found == 0 and tables == 0:
        for statement in filter(str.strip, _SCHEMA.split(";")):
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {_VERSION}")
    database.execute("COMMIT")
    if found not in (0, _APPLICATION_ID) or (found == 0 and tables) or (found and version != _VERSION):
        raise sqlite3.DatabaseError("another kind of database")


def _open_cases(database: sqlite3.Connection) -> int:
    count: int = database.execute(f"SELECT count(*) FROM cases WHERE {_OPEN}").fetchone()[0]  # noqa: S608
    return count


def _values(case: Case) -> tuple[Any, ...]:
    return (
        *(case.id, case.request_id, case.owner, case.tenant, case.model, case.surface, case.conversation),
        *(case.key_version, orjson.dumps(case.reasons).decode(), orjson.dumps(dict(case.counts)).decode()),
        *(case.made_at, case.expires_at, case.state.value, case.taken_at, case.taken_by, case.resolved_at),
        case.answer,
    )


def _case(row: tuple[Any, ...]) -> Case:
    fields = dict(zip(_COLUMNS.split(", "), row, strict=True))
    reasons: list[str] = orjson.loads(fields.pop("reasons"))
    counts: Mapping[str, int] = orjson.loads(fields.pop("counts"))
    return Case(**fields | {"reasons": tuple(reasons), "counts": counts, "state": State(fields["state"])})


def _reason(error: OSError | sqlite3.Error) -> str:
    if isinstance(error, OSError):
        return (error.strerror or "an error of the file system").lower()
    return str(error).lower()
