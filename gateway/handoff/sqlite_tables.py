"""The tables of the hand-off queue in a SQLite file, for one host."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar

from sovctl.support.stall_timeout import DISK_TIMEOUT_S, HUNG

from ..storage.sqlite import FileKind, SqliteDatabase
from .tables import SCHEMA, VERSION, QueueFailed, Step

_Result = TypeVar("_Result")
_Work: TypeAlias = Callable[[sqlite3.Connection], _Result]


class SqliteTables:
    """See `Tables`."""

    def __init__(self, database: SqliteDatabase, *, disk_timeout_s: float) -> None:
        self.where = str(database.path)
        self._database = database
        self._disk_timeout_s = disk_timeout_s
        self._late: asyncio.Task[Any] | None = None
        """A call that the disk has not answered in time; further calls fail until it has."""

    @classmethod
    def open(cls, path: Path, *, disk_timeout_s: float = DISK_TIMEOUT_S) -> Self:
        """Open the file, and create it if absent.

        Args:
            disk_timeout_s: timeout of a disk that does not answer.

        Raises:
            InputError: it cannot be opened, or is not a queue of hand-offs.
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
            task.add_done_callback(
                lambda done: done.cancelled() or done.exception()
            )  # the caller may have been cancelled
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
