"""Where leases are taken: one SQLite file for all gateway processes of a host, or `postgresql_store` for all hosts.

    spent       subject, kind, slot, amount      what was leased and not given back
    holding     subject, holder, amount, until   how many requests a process may run at once

A lease is on the disk before it is spent, so a crash or a power cut forgets none. A process that dies keeps what it had
leased until the window ends, and its right to run requests for `HOLD_S`. All amounts are whole numbers.

    store = await open_store(settings)
    (lease,) = await store.lease([Want("client:branch", "tokens_per_day", ...)], [], now=time.time())
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ..settings import GatewaySettings
from ..storage.errors import StorageFailed
from ..storage.sqlite import BUSY_S, FileKind, SqliteDatabase
from .meter import Owed
from .window import Window, granted

HOLD_S = 15.0
"""A process says three times as often that it is still there; one that is silent for so long has none of its requests
running, or its clients have left."""
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


USED = (
    "SELECT subject, kind, slot, amount FROM spent WHERE ends_at > ? AND amount > 0 UNION ALL "
    "SELECT subject, 'concurrent_requests', 0, sum(amount) FROM holding WHERE until > ? GROUP BY subject"
)
"""What counts now, in both stores; its one value is that time."""

CHECK = (
    "INSERT INTO spent VALUES ('', 'check', 0, 0, 0)",
    "DELETE FROM spent WHERE subject = '' AND kind = 'check'",
)
"""One transaction that changes something and leaves nothing behind, in both stores."""


class QuotaUnavailable(StorageFailed):
    """The store can't say what may be used. Who has limits is not served."""


_KIND = FileKind("a store of quotas", 0x736F7671, _SCHEMA, QuotaUnavailable)  # "sovq"


@dataclass(frozen=True, slots=True)
class Want:
    """A lease that is asked for."""

    subject: str
    kind: str
    window: Window
    slot: int
    limit: int
    need: int
    """Less is of no use."""
    wanted: int
    """For all who wait."""


@dataclass(frozen=True, slots=True)
class Lease:
    """What the store says to a `Want`."""

    amount: int
    """0 when the need did not fit."""
    slots: Mapping[int, int]
    """What was taken in the window of now, by slot, this lease included."""


class Store(Protocol):
    """Counts use for several processes."""

    async def lease(self, wants: Sequence[Want], owed: Sequence[Owed]) -> list[Lease]:
        """Take back what is owed, then grant each want alone; in the order of `wants`.

        Raises:
            QuotaUnavailable: nothing was granted, and nothing taken back.
        """

    async def hold(self, holder: str, subject: str, *, limit: int, need: int, wanted: int, now: float) -> int:
        """Let a process run `need` to `wanted` requests of a subject in all; how many, 0 for too many elsewhere.

        Raises:
            QuotaUnavailable: it may run none.
        """

    async def renew(self, holder: str, held: Mapping[str, int], *, now: float) -> None:
        """Say that a process is still there, and what it holds on to.

        Raises:
            QuotaUnavailable: not heard.
        """

    async def used(self, *, now: float) -> list[tuple[str, str, int, int]]:
        """What counts now, as subject, kind, slot and amount; sorted."""

    async def check(self) -> None:
        """Write something, so that a full or read-only disk is noticed.

        Raises:
            QuotaUnavailable: it can't be written.
        """

    async def close(self) -> None:
        """Let go of the file or the connection."""


class SqliteStore:
    """The store of one host."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path, *, busy_s: float = BUSY_S) -> Self:
        """Open the file; it is made when absent.

        Args:
            busy_s: how long to wait for another process.

        Raises:
            InputError: not a file of this kind, or not to be opened.
        """
        return cls(SqliteDatabase.open(path, _KIND, busy_s=busy_s))

    @classmethod
    def copy(cls, path: Path) -> Self:
        """What is used now, in memory: leases taken there are taken from nobody.

        Raises:
            InputError: not a file of this kind, or not to be read.
        """
        return cls(SqliteDatabase.copy(path, _KIND))

    async def lease(self, wants: Sequence[Want], owed: Sequence[Owed]) -> list[Lease]:
        return await self._database.write(lambda database: _lease(database, wants, owed))

    async def hold(self, holder: str, subject: str, *, limit: int, need: int, wanted: int, now: float) -> int:
        return await self._database.write(lambda database: _hold(database, holder, subject, limit, need, wanted, now))

    async def renew(self, holder: str, held: Mapping[str, int], *, now: float) -> None:
        await self._database.write(lambda database: _renew(database, holder, held, now))

    async def used(self, *, now: float) -> list[tuple[str, str, int, int]]:
        def read(database: sqlite3.Connection) -> list[tuple[str, str, int, int]]:
            return sorted(database.execute(USED, (now, now)))

        return await self._database.write(read)

    async def check(self) -> None:
        def write(database: sqlite3.Connection) -> None:
            for statement in CHECK:
                database.execute(statement)

        await self._database.write(write)

    async def close(self) -> None:
        await self._database.close()


async def open_store(settings: GatewaySettings, *, is_trial: bool = False) -> Store | None:
    """The store of the settings; None where nothing can be limited.

    Args:
        is_trial: whatever is leased there is taken from nobody.

    Raises:
        InputError: not a store of this kind, or not to be opened.
        QuotaUnavailable: the database does not answer.
    """
    if (path := settings.quota.path) is not None:
        return await asyncio.to_thread(SqliteStore.copy if is_trial else SqliteStore.open, path)
    if settings.vault.postgresql is None:
        return None
    from ..storage.postgresql import Address
    from .postgresql_store import PostgresqlStore  # its driver is loaded where it is used

    return await PostgresqlStore.open(Address.of(settings.vault.postgresql), is_trial=is_trial)


def _lease(database: sqlite3.Connection, wants: Sequence[Want], owed: Sequence[Owed]) -> list[Lease]:
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
