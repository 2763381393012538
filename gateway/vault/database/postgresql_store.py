"""The vault's store in PostgreSQL, for gateways on several hosts.

A batch is one statement and one round trip, durable when it returns (synchronous_commit). The head of a conversation
is locked before any of its rows changes, so that a writer and an erasure are serialized, and the second one reads the
result of the first. Writers hold a shared advisory lock; changes of wrapping keys take the exclusive one. The schema is
created and migrated under an advisory lock as well.

    store = await PostgresqlStore.open(Address.of(settings.postgresql))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import asyncpg

from ...storage.postgresql import Address, PostgresqlLink
from ...storage.postgresql_schema import open_schema
from ..encryption.errors import VaultFailed, WrappingKeyRetired
from .postgresql_erasures import LOCK, PostgresqlErasures, empty
from .rows import Counts, KeyRow, RingRewrap, Row
from .store import Batch

SCHEMA = "sovctl_vault"
_SCHEMA_VERSION = "3"
_TABLES = f"""
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
CREATE TABLE keys (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, purpose text NOT NULL, kek text NOT NULL,
    wrapped bytea NOT NULL, created_at bigint NOT NULL, is_retired boolean NOT NULL
);
CREATE TABLE pieces (
    conversation bytea NOT NULL, seq integer NOT NULL, tenant bytea NOT NULL, key_version integer NOT NULL,
    generation integer NOT NULL, expires_at bigint NOT NULL, wrapping_key bigint NOT NULL,
    keys bytea, subjects bytea, sealed bytea, PRIMARY KEY (conversation, seq)
);
CREATE INDEX heads_by_expiry ON pieces (expires_at) WHERE seq = 0;
CREATE INDEX pieces_by_wrapping_key ON pieces (wrapping_key) WHERE wrapping_key > 0;
CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);
INSERT INTO meta VALUES ('schema_version', '2');
"""  # noqa: S608 - made of our own constants
_ERASURES = """
CREATE TABLE erasures (
    id text PRIMARY KEY, begun_at bigint NOT NULL, by_whom text NOT NULL, scope text NOT NULL,
    scope_digest text NOT NULL, conversations bigint NOT NULL, rings bigint NOT NULL, data_keys bigint NOT NULL,
    destroyed_sha256 text NOT NULL, wrapping_keys integer NOT NULL, is_complete boolean NOT NULL,
    seen_at bigint NOT NULL, claimed_until bigint NOT NULL DEFAULT 0, is_recorded boolean NOT NULL DEFAULT false
);
UPDATE meta SET value = '3' WHERE name = 'schema_version';
"""
_COLUMNS = "conversation, seq, tenant, key_version, generation, expires_at, wrapping_key, keys, subjects, sealed"
_BEGIN, _GROW, _TOUCH, _LOOK, _REVIVE = range(5)
# One item per conversation; `seen_*` is the required state of its head. Every part except `looked` includes concurrent
# commits: PostgreSQL evaluates a locked row's condition again (documentation, 13.2.1).
_WRITE = f"""
WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared({LOCK})),
current AS MATERIALIZED (SELECT id FROM keys, locked WHERE id = $1 AND NOT is_retired),
items AS MATERIALIZED (
    SELECT * FROM current, unnest(
        $3::smallint[], $4::integer[], $5::bigint[],
        $6::bytea[], $7::integer[], $8::bytea[], $9::integer[], $10::integer[], $11::bigint[], $12::bigint[],
        $13::bytea[], $14::bytea[], $15::bytea[]
    ) AS item(kind, seen_generation, seen_expires_at, {_COLUMNS})
),
heads AS MATERIALIZED (
    SELECT pieces.conversation, items.kind FROM pieces JOIN items USING (conversation)
    WHERE pieces.seq = 0 AND pieces.generation = items.seen_generation AND (
        (items.kind IN ({_GROW}, {_TOUCH}) AND pieces.keys IS NOT NULL AND pieces.expires_at > $2)
        OR (items.kind = {_REVIVE} AND pieces.expires_at = items.seen_expires_at)
    ) ORDER BY pieces.conversation FOR UPDATE OF pieces
),
begun AS (
    INSERT INTO pieces ({_COLUMNS}) SELECT {_COLUMNS} FROM items WHERE kind = {_BEGIN} ORDER BY conversation
    ON CONFLICT DO NOTHING RETURNING conversation
),
touched AS (
    UPDATE pieces SET expires_at = greatest(pieces.expires_at, items.expires_at)
    FROM items JOIN heads USING (conversation)
    WHERE pieces.conversation = items.conversation AND pieces.seq = 0 AND items.kind IN ({_GROW}, {_TOUCH})
    RETURNING pieces.conversation, items.kind
),
grown AS (
    INSERT INTO pieces ({_COLUMNS}) SELECT {_COLUMNS} FROM items
    WHERE kind = {_GROW} AND conversation IN (SELECT conversation FROM touched)
    ON CONFLICT DO NOTHING RETURNING conversation
),
revived AS (
    UPDATE pieces SET tenant = items.tenant, key_version = items.key_version, generation = items.generation,
        expires_at = items.expires_at, wrapping_key = items.wrapping_key, keys = items.keys,
        subjects = items.subjects, sealed = items.sealed
    FROM items JOIN heads USING (conversation)
    WHERE pieces.conversation = items.conversation AND pieces.seq = 0 AND items.kind = {_REVIVE}
    RETURNING pieces.conversation
),
cleared AS (DELETE FROM pieces USING revived WHERE pieces.conversation = revived.conversation AND pieces.seq > 0),
looked AS (
    SELECT pieces.conversation FROM pieces JOIN items USING (conversation)
    WHERE items.kind = {_LOOK} AND pieces.seq = 0 AND pieces.generation = items.seen_generation
        AND pieces.keys IS NOT NULL AND pieces.expires_at > $2
)
SELECT conversation FROM begun UNION ALL SELECT conversation FROM grown UNION ALL SELECT conversation FROM revived
UNION ALL SELECT conversation FROM looked UNION ALL SELECT conversation FROM touched WHERE kind = {_TOUCH}
UNION ALL SELECT NULL::bytea WHERE NOT EXISTS (SELECT 1 FROM current)
"""  # noqa: S608 - made of our own constants


_REWRITE = f"""
WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared({LOCK})),
current AS MATERIALIZED (SELECT id FROM keys, locked WHERE id = $1 AND NOT is_retired),
items AS MATERIALIZED (
    SELECT * FROM current, unnest(
        $2::bytea[], $3::integer[], $4::bytea[], $5::bigint[], $6::bytea[], $7::bytea[], $8::bytea[]
    ) AS item(conversation, seq, seen_keys, wrapping_key, keys, subjects, sealed)
),
held AS MATERIALIZED (
    SELECT items.* FROM pieces JOIN items USING (conversation, seq) WHERE pieces.keys = items.seen_keys
    ORDER BY pieces.conversation, pieces.seq FOR UPDATE OF pieces
),
changed AS (
    UPDATE pieces SET wrapping_key = held.wrapping_key, keys = held.keys, subjects = held.subjects,
        sealed = held.sealed
    FROM held WHERE pieces.conversation = held.conversation AND pieces.seq = held.seq RETURNING 1
)
SELECT EXISTS (SELECT 1 FROM current), (SELECT count(*) FROM changed)
"""  # noqa: S608 - made of our own constants


class PostgresqlStore:
    """See `store.Store`. Created by `open`."""

    def __init__(self, address: Address) -> None:
        self.where = str(address)
        self._writing = _link(address)
        self._reading = _link(address)
        self.erasures = PostgresqlErasures(self._writing, self._reading)

    @classmethod
    async def open(cls, address: Address) -> Self:
        """Connect; create the schema if absent.

        Raises:
            InputError: the schema has another version.
            VaultFailed: the database failed.
        """
        store = cls(address)
        try:
            await open_schema(store._writing, _prepare, version=_SCHEMA_VERSION, what="a vault")
        except BaseException:
            await store.close()
            raise
        return store

    async def write(self, batch: Batch) -> set[bytes]:
        """See `Store.write`."""
        items = _items(batch)
        columns = list(zip(*items, strict=True))
        rows = await self._writing.run(lambda c: c.fetch(_WRITE, batch.wrapping_key, batch.now, *columns))
        kept = {row[0] for row in rows}
        if None in kept:
            raise WrappingKeyRetired
        return {item[3] for item in items} - kept

    async def read(self, conversations: Sequence[bytes]) -> list[Row]:
        """See `Store.read`."""
        select = f"SELECT {_COLUMNS} FROM pieces WHERE conversation = ANY($1) ORDER BY conversation, seq"  # noqa: S608
        return [Row._make(row) for row in await self._reading.run(lambda c: c.fetch(select, conversations))]

    async def purge(self, now: int, *, tombstone_s: int, limit: int) -> int:
        """See `Store.purge`."""

        async def use(connection: asyncpg.Connection[Any]) -> int:
            async with connection.transaction():
                expired = await connection.fetch(
                    "SELECT conversation, generation > 0 AND keys IS NOT NULL AS was_erased FROM pieces "
                    "WHERE seq = 0 AND expires_at <= $1 ORDER BY conversation LIMIT $2 FOR UPDATE SKIP LOCKED",
                    now,
                    limit,
                )
                gone = [row["conversation"] for row in expired if not row["was_erased"]]
                await connection.execute("DELETE FROM pieces WHERE conversation = ANY($1)", gone)
                stays = [row["conversation"] for row in expired if row["was_erased"]]
                await empty(connection, stays, now + tombstone_s, 0)
                return len(expired)

        return await self._writing.run(use)

    async def forget_copies(self) -> None:
        """See `Store.forget_copies`. PostgreSQL's old row versions are wrapped under destroyed keys."""

    async def keys(self) -> list[KeyRow]:
        """See `Store.keys`."""
        select = "SELECT id, purpose, kek, wrapped, created_at, is_retired FROM keys ORDER BY id"
        return [KeyRow._make(row) for row in await self._reading.run(lambda c: c.fetch(select))]

    async def add_keys(self, keys: Sequence[KeyRow], *, after: int | None) -> bool:
        """See `Store.add_keys`."""

        async def use(connection: asyncpg.Connection[Any]) -> bool:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
                current = await connection.fetchval(
                    "SELECT max(id) FROM keys WHERE purpose = 'wrap' AND NOT is_retired"
                )
                if current != after:
                    return False
                await connection.execute("UPDATE keys SET is_retired = true WHERE purpose = 'wrap'")
                await connection.executemany(
                    "INSERT INTO keys (purpose, kek, wrapped, created_at, is_retired) VALUES ($1, $2, $3, $4, false)",
                    [(key.purpose, key.kek, key.wrapped, key.created_at) for key in keys],
                )
                return True

        return await self._writing.run(use)

    async def wrap_again(self, key: KeyRow, seen_wrapped: bytes) -> bool:
        """See `Store.wrap_again`."""
        update = "UPDATE keys SET kek = $1, wrapped = $2 WHERE id = $3 AND wrapped = $4"
        done = await self._writing.run(lambda c: c.execute(update, key.kek, key.wrapped, key.id, seen_wrapped))
        return bool(done == "UPDATE 1")

    async def remove_keys(self) -> list[int]:
        """See `Store.remove_keys`."""

        async def use(connection: asyncpg.Connection[Any]) -> list[int]:
            async with connection.transaction():
                # With this lock, every writer under one of these keys has committed, and no new one begins.
                await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
                rows = await connection.fetch(
                    "DELETE FROM keys WHERE purpose = 'wrap' AND is_retired AND NOT EXISTS "
                    "(SELECT 1 FROM pieces WHERE wrapping_key = keys.id AND wrapping_key > 0) RETURNING id"
                )
                return sorted(row["id"] for row in rows)

        return await self._writing.run(use)

    async def stale(self, wrapping_key: int, *, limit: int) -> list[Row]:
        """See `Store.stale`."""
        select = (
            f"SELECT {_COLUMNS} FROM pieces WHERE wrapping_key > 0 AND wrapping_key < $1 "  # noqa: S608
            "ORDER BY wrapping_key LIMIT $2"
        )
        return [Row._make(row) for row in await self._reading.run(lambda c: c.fetch(select, wrapping_key, limit))]

    async def count_stale(self, wrapping_key: int) -> int:
        """See `Store.count_stale`."""
        select = "SELECT count(*) FROM pieces WHERE wrapping_key > 0 AND wrapping_key < $1"
        return int(await self._reading.run(lambda c: c.fetchval(select, wrapping_key)))

    async def rewrite(self, changes: Sequence[RingRewrap], *, wrapping_key: int) -> int:
        """See `Store.rewrite`."""
        items = sorted((row.conversation, row.seq, seen_keys, *row[6:]) for row, seen_keys in changes)
        columns = list(zip(*items, strict=True))
        is_current, changed = await self._writing.run(lambda c: c.fetchrow(_REWRITE, wrapping_key, *columns))
        if not is_current:
            raise WrappingKeyRetired
        return int(changed)

    async def counts(self, now: int) -> Counts:
        """See `Store.counts`."""
        conversations = (
            "SELECT key_version, count(*) FROM pieces WHERE seq = 0 AND keys IS NOT NULL AND expires_at > $1 GROUP BY 1"
        )
        pieces = "SELECT wrapping_key, count(*) FROM pieces WHERE wrapping_key > 0 GROUP BY 1"
        return Counts(
            {row[0]: row[1] for row in await self._reading.run(lambda c: c.fetch(conversations, now))},
            {row[0]: row[1] for row in await self._reading.run(lambda c: c.fetch(pieces))},
        )

    async def check(self, now: int) -> None:
        """See `Store.check`."""
        upsert = "INSERT INTO meta VALUES ('checked_at', $1) ON CONFLICT (name) DO UPDATE SET value = $1"
        await self._writing.run(lambda c: c.execute(upsert, str(now)))

    async def close(self) -> None:
        """See `Store.close`."""
        await self._writing.close()
        await self._reading.close()


async def _prepare(connection: asyncpg.Connection[Any]) -> str:
    """Create the schema if absent, and return its version."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
        if await connection.fetchval("SELECT to_regclass($1) IS NULL", f"{SCHEMA}.meta"):
            await connection.execute(_TABLES)
        version = "SELECT value FROM meta WHERE name = 'schema_version'"
        if await connection.fetchval(version) == "2":
            await connection.execute(_ERASURES)
        return str(await connection.fetchval(version))


def _items(batch: Batch) -> list[tuple[Any, ...]]:
    """Return the rows of `_WRITE`: type of the change, required state, new row."""
    items: list[tuple[Any, ...]] = [(_BEGIN, None, None, *row) for row in batch.begin]
    for conversation, generation, expires_at, row in batch.grow:
        if row is not None:
            items.append((_GROW, generation, None, *row))
        else:
            kind = _LOOK if expires_at is None else _TOUCH
            no_row = (conversation, 0, None, None, None, expires_at, None, None, None, None)
            items.append((kind, generation, None, *no_row))
    items += [(_REVIVE, generation, expires_at, *row) for row, generation, expires_at in batch.revive]
    items.sort(key=lambda item: item[3])
    return items


def _link(address: Address) -> PostgresqlLink:
    return PostgresqlLink(
        address,
        schema=SCHEMA,
        failure=VaultFailed,
        hint="no tokenized request is sent until it answers",
    )
