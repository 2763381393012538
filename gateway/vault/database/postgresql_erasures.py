"""Erasures in PostgreSQL; see `erasures`. Heads are locked in the order of their conversations, as writers do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import asyncpg

from ...storage.postgresql import PostgresqlLink
from ..encryption.errors import WrappingKeyRetired
from ..encryption.sealing import count_values
from .erasures import ABANDONED_AFTER_S, CLAIM_TIMEOUT_S, PROGRESS, Erasure, Progress, Redaction, chained

LOCK = 0x736F7663  # "sovc": the vault's advisory lock
_COLUMNS = ", ".join(Erasure._fields).replace("by,", "by_whom,")
_LOCK_HEADS = "SELECT 1 FROM pieces WHERE conversation = ANY($1) AND seq = 0 ORDER BY conversation FOR UPDATE"
_CONVERSATIONS = """
SELECT DISTINCT conversation FROM pieces WHERE conversation > $1 AND tenant = $2 AND keys IS NOT NULL
AND CASE WHEN cardinality($3::bytea[]) = 0 THEN seq = 0
    ELSE EXISTS (SELECT 1 FROM unnest($3::bytea[]) AS asked(digest) WHERE position(digest IN subjects) > 0) END
ORDER BY conversation LIMIT $4
"""


class PostgresqlErasures:
    """See `Erasures`."""

    def __init__(self, writing: PostgresqlLink, reading: PostgresqlLink) -> None:
        self._writing, self._reading = writing, reading

    async def begin(self, erasure: Erasure) -> None:
        """See `Erasures.begin`."""
        places = ", ".join(f"${number}" for number in range(1, len(erasure) + 2))
        insert = f"INSERT INTO erasures ({_COLUMNS}, seen_at) VALUES ({places}) ON CONFLICT DO NOTHING"  # noqa: S608
        await self._writing.run(lambda c: c.execute(insert, *erasure, erasure.begun_at))

    async def touch(self, erasure_id: str, *, now: int) -> None:
        """See `Erasures.touch`."""
        update = "UPDATE erasures SET seen_at = $1 WHERE id = $2"
        await self._writing.run(lambda c: c.execute(update, now, erasure_id))

    async def finish(self, erasure_id: str, *, wrapping_keys: int) -> Erasure:
        """See `Erasures.finish`."""
        update = f"UPDATE erasures SET is_complete = true, wrapping_keys = $1 WHERE id = $2 RETURNING {_COLUMNS}"  # noqa: S608
        return Erasure._make(await self._writing.run(lambda c: c.fetchrow(update, wrapping_keys, erasure_id)))

    async def conversations(
        self, tenant: bytes, subjects: Collection[bytes], *, after: bytes, limit: int
    ) -> list[bytes]:
        """See `Erasures.conversations`."""
        rows = await self._reading.run(lambda c: c.fetch(_CONVERSATIONS, after, tenant, list(subjects), limit))
        return [row[0] for row in rows]

    async def destroy_conversations(self, conversations: Sequence[bytes], *, until: int, erasure_id: str | None) -> int:
        """See `Erasures.destroy_conversations`."""

        async def use(connection: asyncpg.Connection[Any]) -> int:
            async with connection.transaction():
                await connection.execute(_LOCK_HEADS, conversations)
                found = await connection.fetch(
                    "SELECT conversation, keys FROM pieces WHERE conversation = ANY($1) AND keys IS NOT NULL "
                    "ORDER BY conversation, seq",
                    conversations,
                )
                await empty(connection, conversations, until, 1)
                rings = [row["keys"] for row in found]
                if erasure_id is not None:
                    members = {row["conversation"] for row in found}
                    await _count(connection, erasure_id, len(members), rings, sum(map(count_values, rings)))
                return len(rings)

        return await self._writing.run(use, is_repeatable=False)

    async def redact(self, redactions: Sequence[Redaction], *, wrapping_key: int, erasure_id: str) -> set[bytes]:
        """See `Erasures.redact`."""
        asked = sorted({each.row.conversation for each in redactions})

        async def use(connection: asyncpg.Connection[Any]) -> set[bytes]:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock_shared($1)", LOCK)
                current = "SELECT 1 FROM keys WHERE id = $1 AND NOT is_retired"
                if await connection.fetchval(current, wrapping_key) is None:
                    raise WrappingKeyRetired
                await connection.execute(_LOCK_HEADS, asked)
                # Serializes with key rotation, which updates pieces without locking their head row.
                rows = await connection.fetch(
                    "SELECT conversation, seq, keys FROM pieces WHERE conversation = ANY($1) "
                    "ORDER BY conversation, seq FOR UPDATE",
                    asked,
                )
                there = {(row["conversation"], row["seq"]): row["keys"] for row in rows}
                conflicts = {
                    row.conversation for row, keys, _ in redactions if there.get((row.conversation, row.seq)) != keys
                }
                good = [each for each in redactions if each.row.conversation not in conflicts]
                await connection.executemany(
                    "UPDATE pieces SET wrapping_key = $3, keys = $4, subjects = $5, sealed = $6 "
                    "WHERE conversation = $1 AND seq = $2",
                    [(*each.row[:2], *each.row[6:]) for each in good],
                )
                changed = {each.row.conversation for each in good}
                update = "UPDATE pieces SET generation = generation + 1 WHERE conversation = ANY($1) AND seq = 0"
                await connection.execute(update, list(changed))
                rings = [each.seen_keys for each in good]
                await _count(connection, erasure_id, len(changed), rings, sum(each.data_keys for each in good))
                return conflicts

        return await self._writing.run(use, is_repeatable=False)

    async def claim(self, *, now: int) -> Erasure | None:
        """See `Erasures.claim`. Writes only if an erasure can be claimed."""
        over = "NOT is_recorded AND (is_complete OR seen_at < $1) AND claimed_until <= $2"
        look = f"SELECT 1 FROM erasures WHERE {over} LIMIT 1"  # noqa: S608
        if await self._reading.run(lambda c: c.fetchval(look, now - ABANDONED_AFTER_S, now)) is None:
            return None
        take = (
            "UPDATE erasures SET claimed_until = $3 WHERE id = "  # noqa: S608
            f"(SELECT id FROM erasures WHERE {over} LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING {_COLUMNS}"
        )
        row = await self._writing.run(
            lambda c: c.fetchrow(take, now - ABANDONED_AFTER_S, now, now + CLAIM_TIMEOUT_S), is_repeatable=False
        )
        return Erasure._make(row) if row is not None else None

    async def mark_recorded(self, erasure_id: str) -> None:
        """See `Erasures.mark_recorded`."""
        await self._writing.run(lambda c: c.execute("UPDATE erasures SET is_recorded = true WHERE id = $1", erasure_id))

    async def is_recorded(self, erasure_id: str) -> bool:
        """See `Erasures.is_recorded`."""
        select = "SELECT is_recorded FROM erasures WHERE id = $1"
        return bool(await self._reading.run(lambda c: c.fetchval(select, erasure_id)))

    async def progress(self) -> Progress:
        """See `Erasures.progress`."""
        row = await self._reading.run(lambda c: c.fetchrow(f"SELECT {PROGRESS} FROM erasures"))  # noqa: S608
        return Progress._make(map(int, row))


async def empty(
    connection: asyncpg.Connection[Any], conversations: Sequence[bytes], until: int, generations: int
) -> None:
    """Delete these conversations except their heads, which store the generation."""
    await connection.execute("DELETE FROM pieces WHERE conversation = ANY($1) AND seq > 0", conversations)
    await connection.execute(
        "UPDATE pieces SET wrapping_key = 0, keys = NULL, subjects = NULL, sealed = NULL, "
        "generation = generation + $1, expires_at = $2 "
        "WHERE conversation = ANY($3) AND keys IS NOT NULL",
        generations,
        until,
        conversations,
    )


async def _count(
    connection: asyncpg.Connection[Any], erasure_id: str, conversations: int, rings: Sequence[bytes], data_keys: int
) -> None:
    if not rings:
        return
    before = await connection.fetchval("SELECT destroyed_sha256 FROM erasures WHERE id = $1 FOR UPDATE", erasure_id)
    await connection.execute(
        "UPDATE erasures SET conversations = conversations + $1, rings = rings + $2, data_keys = data_keys + $3, "
        "destroyed_sha256 = $4 WHERE id = $5",
        conversations,
        len(rings),
        data_keys,
        chained(before, rings),
        erasure_id,
    )
