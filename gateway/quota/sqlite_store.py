"""Store of leases in a SQLite file, for all gateway processes of one host."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from ..storage.sqlite import BUSY_S, FileKind, SqliteDatabase
from .meter import LeaseReturn
from .store import ADD_USAGE, CHECK, HOLD_S, USAGE_COLUMNS, USED, Lease, LeaseRequest, QuotaUnavailable, usage_row
from .usage import UsageRow
from .window import granted

_SCHEMA = """
CREATE TABLE spent (
    subject TEXT NOT NULL, kind TEXT NOT NULL, slot INTEGER NOT NULL, amount INTEGER NOT NULL, ends_at REAL NOT NULL,
    PRIMARY KEY (subject, kind, slot)
) WITHOUT ROWID;
CREATE TABLE holding (
    subject TEXT NOT NULL, holder TEXT NOT NULL, amount INTEGER NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (subject, holder)
) WITHOUT ROWID;
"""
_LATER = """
CREATE TABLE IF NOT EXISTS used (
    day INTEGER NOT NULL, tenant TEXT NOT NULL, team TEXT NOT NULL, client TEXT NOT NULL, model TEXT NOT NULL,
    upstream TEXT NOT NULL, requests INTEGER NOT NULL, unmeasured INTEGER NOT NULL, prompt INTEGER NOT NULL,
    completion INTEGER NOT NULL, cost INTEGER NOT NULL, PRIMARY KEY (day, tenant, team, client, model, upstream)
) WITHOUT ROWID
"""
_KIND = FileKind("a store of quotas", 0x736F7671, _SCHEMA, QuotaUnavailable, later=_LATER)  # "sovq"


class SqliteStore:
    """The store of one host."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path, *, busy_s: float = BUSY_S) -> Self:
        """Open the file, and create it if absent.

        Args:
            busy_s: timeout for other processes that write.

        Raises:
            InputError: it cannot be opened, or is not a store of quotas.
        """
        return cls(SqliteDatabase.open(path, _KIND, busy_s=busy_s))

    @classmethod
    def copy(cls, path: Path) -> Self:
        """Return a copy of the file in memory, whose leases do not count.

        Raises:
            InputError: it cannot be read, or is not a store of quotas.
        """
        return cls(SqliteDatabase.copy(path, _KIND))

    async def lease(self, wants: Sequence[LeaseRequest], owed: Sequence[LeaseReturn]) -> list[Lease]:
        return await self._database.write(lambda database: _lease(database, wants, owed))

    async def hold(self, holder: str, subject: str, *, limit: int, need: int, wanted: int, now: float) -> int:
        return await self._database.write(lambda database: _hold(database, holder, subject, limit, need, wanted, now))

    async def renew(self, holder: str, held: Mapping[str, int], *, now: float) -> None:
        await self._database.write(lambda database: _renew(database, holder, held, now))

    async def used(self, *, now: float) -> list[tuple[str, str, int, int]]:
        def read(database: sqlite3.Connection) -> list[tuple[str, str, int, int]]:
            return sorted(database.execute(USED, (now, now)))

        return await self._database.write(read)

    async def add_usage(self, rows: Sequence[UsageRow], *, oldest: int) -> None:
        def write(database: sqlite3.Connection) -> None:
            statement = ADD_USAGE.format(values=", ".join("?" * len(USAGE_COLUMNS)))
            database.executemany(statement, [(*key, *sums) for key, sums in rows])
            database.execute("DELETE FROM used WHERE day < ?", (oldest,))

        await self._database.write(write)

    async def usage(self, first: int, last: int) -> list[UsageRow]:
        def read(database: sqlite3.Connection) -> list[UsageRow]:
            columns = ", ".join(USAGE_COLUMNS)
            found = database.execute(f"SELECT {columns} FROM used WHERE day BETWEEN ? AND ?", (first, last))  # noqa: S608 - constants
            return sorted(map(usage_row, found))

        return await self._database.read(read)

    async def check(self) -> None:
        def write(database: sqlite3.Connection) -> None:
            for statement in CHECK:
                database.execute(statement)

        await self._database.write(write)

    async def close(self) -> None:
        await self._database.close()


def _lease(database: sqlite3.Connection, wants: Sequence[LeaseRequest], owed: Sequence[LeaseReturn]) -> list[Lease]:
    database.executemany(
        "UPDATE spent SET amount = max(0, amount - ?) WHERE subject = ? AND kind = ? AND slot = ?",
        [(each.amount, each.subject, each.kind, each.slot) for each in owed],
    )
    leases = []
    for want in wants:
        rows = database.execute(
            "SELECT slot, amount FROM spent WHERE subject = ? AND kind = ? AND slot BETWEEN ? AND ?",
            (want.subject, want.kind, want.window.first(want.slot), want.slot),
        ).fetchall()
        slots = dict(rows)
        amount = granted(limit=want.limit, taken=sum(slots.values()), need=want.need, wanted=want.wanted)
        if amount:
            slots[want.slot] = slots.get(want.slot, 0) + amount
            database.execute(
                "INSERT INTO spent VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (subject, kind, slot) DO UPDATE SET amount = amount + excluded.amount",
                (want.subject, want.kind, want.slot, amount, want.window.free_at(want.slot)),
            )
        leases.append(Lease(amount, slots))
    return leases


def _hold(
    database: sqlite3.Connection, holder: str, subject: str, limit: int, need: int, wanted: int, now: float
) -> int:
    (elsewhere,) = database.execute(
        "SELECT coalesce(sum(amount), 0) FROM holding WHERE subject = ? AND holder != ? AND until > ?",
        (subject, holder, now),
    ).fetchone()
    amount = granted(limit=limit, taken=elsewhere, need=need, wanted=wanted)
    if amount:
        database.execute(
            "INSERT INTO holding VALUES (?, ?, ?, ?) "
            "ON CONFLICT (subject, holder) DO UPDATE SET amount = excluded.amount, until = excluded.until",
            (subject, holder, amount, now + HOLD_S),
        )
    return amount


def _renew(database: sqlite3.Connection, holder: str, held: Mapping[str, int], now: float) -> None:
    database.execute("DELETE FROM holding WHERE holder = ? OR until <= ?", (holder, now))
    database.executemany(
        "INSERT INTO holding VALUES (?, ?, ?, ?)",
        [(subject, holder, amount, now + HOLD_S) for subject, amount in held.items() if amount],
    )
    database.execute("DELETE FROM spent WHERE ends_at <= ?", (now,))
