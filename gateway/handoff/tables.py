"""Where the tables of the queue of hand-offs are: a SQLite file of this host, or PostgreSQL for several hosts.

Both take the same statements, with `$1` for values, and keep the same promises: what `change` returned from is durable
and was one transaction, and no two changes are made at a time.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias, TypeVar

from sovctl.support.stall_timeout import DISK_TIMEOUT_S, HUNG

from ..settings import GatewaySettings
from ..storage.errors import StorageFailed
from ..storage.sqlite import FileKind, SqliteDatabase

_Result = TypeVar("_Result")
_Work: TypeAlias = Callable[[sqlite3.Connection], _Result]
Step = tuple[str, tuple[Any, ...]]
"""A statement and its values."""

CASE_COLUMNS = {
    **dict.fromkeys(("id", "request_id", "owner", "tenant", "model", "surface", "conversation"), "text"),
    "key_version": "integer",
    **dict.fromkeys(("reasons", "counts"), "text"),
    **dict.fromkeys(("made_at", "expires_at"), "bigint"),
    "state": "text",
    "taken_at": "bigint",
    "taken_by": "text",
    "resolved_at": "bigint",
    "answer": "text",
}
"""Of the table `cases`: name and type."""
_MAY_BE_NULL = frozenset({"taken_at", "taken_by", "resolved_at", "answer"})
_CASES = ", ".join(
    f"{name} {kind}{' PRIMARY KEY' if name == 'id' else '' if name in _MAY_BE_NULL else ' NOT NULL'}"
    for name, kind in CASE_COLUMNS.items()
)
SCHEMA = f"""
CREATE TABLE cases ({_CASES});
CREATE INDEX cases_by_state ON cases (state, made_at);
CREATE INDEX cases_by_end ON cases (expires_at);
CREATE TABLE outbox (case_id text PRIMARY KEY, attempts integer NOT NULL, next_at double precision NOT NULL);
CREATE TABLE duty (id integer PRIMARY KEY CHECK (id = 1), holder text NOT NULL, until double precision NOT NULL);
"""
VERSION = 1


class QueueFailed(StorageFailed):
    """The queue can't be read or written."""


class Tables(Protocol):
    """The tables of one queue."""

    where: str
    """For errors and reports."""

    async def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What one statement finds.

        Raises:
            QueueFailed: nobody can say.
        """

    async def change(self, *steps: Step) -> list[int]:
        """Run statements in one transaction; how many rows each changed.

        Raises:
            QueueFailed: not durable.
        """

    async def close(self) -> None:
        """Let go of the file or the connection."""


async def open_tables(settings: GatewaySettings) -> Tables:
    """The tables of these settings; made when absent.

    Raises:
        InputError: no file or schema of this kind, or not to be opened.
        QueueFailed: the database does not answer.
    """
    if (path := settings.handoff_path) is not None:
        return await asyncio.to_thread(SqliteTables.open, path, disk_timeout_s=settings.disk_timeout_s)
    from ..storage.postgresql import Address
    from .postgresql_tables import PostgresqlTables  # its driver is loaded where it is used

    assert settings.vault.postgresql is not None
    return await PostgresqlTables.open(Address.of(settings.vault.postgresql))


class SqliteTables:
    """See `Tables`."""

    def __init__(self, database: SqliteDatabase, *, disk_timeout_s: float) -> None:
        self.where = str(database.path)
        self._database = database
        self._disk_timeout_s = disk_timeout_s
        self._late: asyncio.Task[Any] | None = None
        """What the disk has not answered in time; what comes while it hangs is not put behind it."""

    @classmethod
    def open(cls, path: Path, *, disk_timeout_s: float = DISK_TIMEOUT_S) -> Self:
        """Open the file; it is made when absent.

        Args:
            disk_timeout_s: how long to wait for a disk that does not answer.

        Raises:
            InputError: not a file of this kind, or not to be opened.
        """
        return cls(SqliteDatabase.open(path, KIND), disk_timeout_s=disk_timeout_s)

    async def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """See `Tables.rows`."""
        return await self._in_time(
            self._database.read,
            lambda connection: connection.execute(statement, _numbered(values)).fetchall(),
        )

    async def change(self, *steps: Step) -> list[int]:
        """See `Tables.change`."""
        return await self._in_time(
            self._database.write,
            lambda connection: [connection.execute(sql, _numbered(values)).rowcount for sql, values in steps],
        )

    async def _in_time(
        self, run: Callable[[_Work[_Result]], Coroutine[Any, Any, _Result]], work: _Work[_Result]
    ) -> _Result:
        if self._late is None or self._late.done():
            task = asyncio.ensure_future(run(work))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # whoever asked may have left
            if (await asyncio.wait((task,), timeout=self._disk_timeout_s))[0]:
                return task.result()
            self._late = task
        raise QueueFailed(HUNG, where=self.where)

    async def close(self) -> None:
        """See `Tables.close`."""
        await self._database.close()


KIND = FileKind("a queue of hand-offs", 0x736F7668, SCHEMA, QueueFailed, version=VERSION, is_wiped=True)  # "sovh"


def _numbered(values: tuple[Any, ...]) -> dict[str, Any]:
    return {str(place): value for place, value in enumerate(values, start=1)}
