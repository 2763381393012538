"""A SQLite file that the gateway processes of one host share: created if absent, with a type check and durable
commits.

Work runs in a thread of the file, one transaction after another. A process that waits longer than `busy_s` for another
one raises the file's error.

    KIND = FileKind("a store of quotas", application_id=0x736F7671, schema="CREATE TABLE ...", failure=QuotaUnavailable)
    database = SqliteDatabase.open(Path("quota.db"), KIND)
    await database.write(lambda connection: connection.execute("DELETE FROM spent"))
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from sovctl.support.errors import InputError

from .errors import StorageFailed

BUSY_S = 2.0  # a transaction takes about 1 ms, longer while a disk is slow
_PAUSE_S = 0.01
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class FileKind:
    """Type of a file."""

    name: str
    """Name for messages."""
    application_id: int
    """Four characters that identify the type, also for `file`."""
    schema: str
    """The CREATE statements."""
    failure: type[StorageFailed]
    """Raised if the file is unreadable or unwritable."""
    version: int = 0
    """Version of the schema."""
    later: str = ""
    """CREATE statements `IF NOT EXISTS` of tables that earlier releases did not have; read at every start."""
    is_wiped: bool = False
    """Removed rows are overwritten."""


class SqliteDatabase:
    """One open file. Created by `open` or `copy`."""

    def __init__(self, path: Path, kind: FileKind, connection: sqlite3.Connection) -> None:
        self.path = path
        self._kind = kind
        self._connection = connection
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=path.stem)

    @classmethod
    def open(cls, path: Path, kind: FileKind, *, busy_s: float = BUSY_S) -> Self:
        """Open the file; create it if absent.

        Raises:
            InputError: not a file of this type, or it cannot be opened.
        """

        def connect() -> sqlite3.Connection:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            return sqlite3.connect(path, isolation_level=None, timeout=busy_s, check_same_thread=False)

        return cls(path, kind, _prepared(connect, path, kind, busy_s=busy_s))

    @classmethod
    def copy(cls, path: Path, kind: FileKind) -> Self:
        """Return a copy of the file in memory; writes do not change the file.

        Raises:
            InputError: not a file of this type, or unreadable.
        """

        def connect() -> sqlite3.Connection:
            return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)

        def fill(connection: sqlite3.Connection) -> None:
            if path.exists():
                with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as there:
                    there.backup(connection)

        return cls(path, kind, _prepared(connect, path, kind, fill=fill))

    async def read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Return the result of `work`, which runs one statement.

        Raises:
            StorageFailed: `kind.failure`.
        """
        return await self._in_thread(work, is_writing=False)

    async def write(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run `work` in a transaction and return its result. The transaction is durable, or rolled back if `work`
        raises.

        Raises:
            StorageFailed: `kind.failure`.
        """
        return await self._in_thread(work, is_writing=True)

    async def close(self) -> None:
        """Close the file."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._connection.close)
        self._thread.shutdown()

    async def _in_thread(self, work: Callable[[sqlite3.Connection], _Result], *, is_writing: bool) -> _Result:
        connection = self._connection

        def run() -> _Result:
            try:
                if not is_writing:
                    return work(connection)
                connection.execute("BEGIN IMMEDIATE")
                result = work(connection)
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                message = f"{self._kind.name} is unreadable or unwritable: {_reason(error)}"
                raise self._kind.failure(message, where=str(self.path), hint="is the disk full?") from error
            else:
                return result
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)


def keep_log(connection: sqlite3.Connection, *, busy_s: float) -> None:
    """Enable the write-ahead log. Retries, because SQLite itself does not wait for another process that creates the
    same file.

    Raises:
        sqlite3.OperationalError: it was busy for longer than `busy_s`.
    """
    until = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(_PAUSE_S)


def _prepared(
    connect: Callable[[], sqlite3.Connection],
    path: Path,
    kind: FileKind,
    *,
    busy_s: float = BUSY_S,
    fill: Callable[[sqlite3.Connection], None] = lambda _: None,
) -> sqlite3.Connection:
    with contextlib.ExitStack() as undo:
        try:
            connection = connect()
            undo.callback(connection.close)
            fill(connection)
            keep_log(connection, busy_s=busy_s)
            _prepare(connection, kind)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"cannot open {kind.name}: {_reason(error)}", where=str(path)) from error
        undo.pop_all()
    return connection


def _prepare(connection: sqlite3.Connection, kind: FileKind) -> None:
    connection.execute("PRAGMA synchronous = FULL")  # NORMAL may lose the last commits in a power failure
    connection.execute(f"PRAGMA secure_delete = {'ON' if kind.is_wiped else 'OFF'}")
    connection.execute("BEGIN IMMEDIATE")
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if found == 0 and tables == 0:
        for statement in filter(str.strip, kind.schema.split(";")):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {kind.application_id}")
        connection.execute(f"PRAGMA user_version = {kind.version}")
        found, version = kind.application_id, kind.version
    if found == kind.application_id and version == kind.version:
        for statement in filter(str.strip, kind.later.split(";")):
            connection.execute(statement)
    connection.execute("COMMIT")
    if found != kind.application_id or version != kind.version:
        raise sqlite3.DatabaseError("another kind of database")


def _reason(error: OSError | sqlite3.Error) -> str:
    if isinstance(error, OSError):
        return (error.strerror or "an error of the file system").lower()
    return str(error).lower()
