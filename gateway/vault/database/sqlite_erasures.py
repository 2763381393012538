"""Erasures in a vault's SQLite file; see `erasures`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from sovctl.support.processes.worker_thread import WorkerThread

from ..encryption.sealing import count_values
from .erasures import ABANDONED_AFTER_S, CLAIM_TIMEOUT_S, PROGRESS, Erasure, Progress, Redaction, chained
from .sqlite_file import SqliteFile, empty, require_current

_COLUMNS = ", ".join(Erasure._fields).replace("by,", "by_whom,")
_SELECT = f"SELECT {_COLUMNS} FROM erasures"  # noqa: S608 - made of our own constants
_OVER = "NOT is_recorded AND (is_complete OR seen_at < ?) AND claimed_until <= ?"


class SqliteErasures:
    """See `Erasures`.

    Args:
        writer, reader: the threads that own the files.
    """

    def __init__(self, writer: WorkerThread, writing: SqliteFile, reader: WorkerThread, reading: SqliteFile) -> None:
        self._writer, self._writing = writer, writing
        self._reader, self._reading = reader, reading

    async def begin(self, erasure: Erasure) -> None:
        """See `Erasures.begin`."""
        insert = f"INSERT INTO erasures ({_COLUMNS}, seen_at) VALUES ({'?, ' * len(erasure)}?)"  # noqa: S608
        await self._write(insert, *erasure, erasure.begun_at)

    async def touch(self, erasure_id: str, *, now: int) -> None:
        """See `Erasures.touch`."""
        await self._write("UPDATE erasures SET seen_at = ? WHERE id = ?", now, erasure_id)

    async def finish(self, erasure_id: str, *, wrapping_keys: int) -> Erasure:
        """See `Erasures.finish`."""
        update = "UPDATE erasures SET is_complete = 1, wrapping_keys = ? WHERE id = ?"
        await self._write(update, wrapping_keys, erasure_id)
        return await self._reader.run(self._get, erasure_id)

    async def conversations(
        self, tenant: bytes, subjects: Collection[bytes], *, after: bytes, limit: int
    ) -> list[bytes]:
        """See `Erasures.conversations`."""
        which = " OR ".join(["instr(subjects, ?) > 0"] * len(subjects)) or "seq = 0"
        select = (
            "SELECT DISTINCT conversation FROM pieces WHERE conversation > ? AND tenant = ? AND keys IS NOT NULL "  # noqa: S608
            f"AND ({which}) ORDER BY conversation LIMIT ?"
        )

        def use() -> list[bytes]:
            with self._reading.reading() as database:
                return [row[0] for row in database.execute(select, (after, tenant, *subjects, limit))]

        return await self._reader.run(use)

    async def destroy_conversations(self, conversations: Sequence[bytes], *, until: int, erasure_id: str | None) -> int:
        """See `Erasures.destroy_conversations`."""

        def use() -> int:
            with self._writing.writing() as database:
                select = "SELECT keys FROM pieces WHERE conversation = ? AND keys IS NOT NULL ORDER BY seq"
                found = [[keys for (keys,) in database.execute(select, (each,))] for each in sorted(conversations)]
                empty(database, conversations, until, 1)
                rings = [ring for each in found for ring in each]
                if erasure_id is not None:
                    _count(database, erasure_id, sum(map(bool, found)), rings, sum(map(count_values, rings)))
                return len(rings)

        return await self._writer.run(use)

    async def redact(self, redactions: Sequence[Redaction], *, wrapping_key: int, erasure_id: str) -> set[bytes]:
        """See `Erasures.redact`."""
        update = (
            "UPDATE pieces SET wrapping_key = ?, keys = ?, subjects = ?, sealed = ? WHERE conversation = ? AND seq = ?"
        )

        def use() -> set[bytes]:
            with self._writing.writing() as database:
                require_current(database, wrapping_key)
                conflicts = {
                    row.conversation
                    for row, seen_keys, _ in redactions
                    if database.execute(
                        "SELECT keys FROM pieces WHERE conversation = ? AND seq = ?", (row.conversation, row.seq)
                    ).fetchone()
                    != (seen_keys,)
                }
                good = [each for each in redactions if each.row.conversation not in conflicts]
                database.executemany(update, [(*each.row[6:], *each.row[:2]) for each in good])
                changed = {each.row.conversation for each in good}
                database.executemany(
                    "UPDATE pieces SET generation = generation + 1 WHERE conversation = ? AND seq = 0",
                    [(each,) for each in changed],
                )
                rings = [each.seen_keys for each in good]
                _count(database, erasure_id, len(changed), rings, sum(each.data_keys for each in good))
                return conflicts

        return await self._writer.run(use)

    async def claim(self, *, now: int) -> Erasure | None:
        """See `Erasures.claim`. Writes only if an erasure can be claimed."""
        over = (now - ABANDONED_AFTER_S, now)

        def look() -> bool:
            with self._reading.reading() as database:
                return database.execute(f"SELECT 1 FROM erasures WHERE {_OVER}", over).fetchone() is not None  # noqa: S608

        def take() -> Erasure | None:
            with self._writing.writing() as database:
                row = database.execute(f"{_SELECT} WHERE {_OVER} LIMIT 1", over).fetchone()
                if row is None:
                    return None
                database.execute("UPDATE erasures SET claimed_until = ? WHERE id = ?", (now + CLAIM_TIMEOUT_S, row[0]))
                return _erasure(row)

        return await self._writer.run(take) if await self._reader.run(look) else None

    async def mark_recorded(self, erasure_id: str) -> None:
        """See `Erasures.mark_recorded`."""
        await self._write("UPDATE erasures SET is_recorded = 1 WHERE id = ?", erasure_id)

    async def is_recorded(self, erasure_id: str) -> bool:
        """See `Erasures.is_recorded`."""

        def use() -> bool:
            with self._reading.reading() as database:
                select = "SELECT is_recorded FROM erasures WHERE id = ?"
                return bool(database.execute(select, (erasure_id,)).fetchone()[0])

        return await self._reader.run(use)

    async def progress(self) -> Progress:
        """See `Erasures.progress`."""

        def use() -> Progress:
            with self._reading.reading() as database:
                return Progress._make(database.execute(f"SELECT {PROGRESS} FROM erasures").fetchone())  # noqa: S608

        return await self._reader.run(use)

    async def _write(self, statement: str, *values: object) -> None:
        def use() -> None:
            with self._writing.writing() as database:
                database.execute(statement, values)

        await self._writer.run(use)

    def _get(self, erasure_id: str) -> Erasure:
        with self._reading.reading() as database:
            return _erasure(database.execute(f"{_SELECT} WHERE id = ?", (erasure_id,)).fetchone())


def _erasure(row: tuple[object, ...]) -> Erasure:
    return Erasure._make((*row[:-1], bool(row[-1])))


def _count(
    database: sqlite3.Connection, erasure_id: str, conversations: int, rings: Sequence[bytes], data_keys: int
) -> None:
    if not rings:
        return
    select = "SELECT destroyed_sha256 FROM erasures WHERE id = ?"
    before = database.execute(select, (erasure_id,)).fetchone()[0]
    database.execute(
        "UPDATE erasures SET conversations = conversations + ?, rings = rings + ?, data_keys = data_keys + ?, "
        "destroyed_sha256 = ? WHERE id = ?",
        (conversations, len(rings), data_keys, chained(before, rings), erasure_id),
    )
