"""Creates and updates the database of the retrieval service, as a superuser through a Unix socket.

Idempotent, in one transaction: roles, extensions, tables (`schema.sql`), functions (`functions.sql`), collections,
models, one vector table for each collection and model (`vectors.sql`), policies (`policies.sql`) and the claim key. A
collection or model that left the settings stays in the database, because its removal deletes data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import asyncpg

from sovctl.support.errors import InputError, SovctlError

from ..models import EmbeddingSettings
from ..settings import CollectionSettings
from .failures import reason

OWNER, READER, SERVICE = "sovctl_retrieval_owner", "sovctl_retrieval_reader", "sovctl_retrieval"
MIN_PGVECTOR = (0, 8)
"""`hnsw.iterative_scan` is new in pgvector 0.8.0 (its changelog, 2024-10-30)."""
_LOCK = 0x736F7672  # advisory lock: one migration at a time


class MigrationFailed(SovctlError):
    """The database cannot be created or updated."""


async def migrate(
    dsn: str, *, claim_key: bytes, collections: Sequence[CollectionSettings], models: Sequence[EmbeddingSettings]
) -> bool:
    """Bring the database to the current schema and settings.

    Args:
        dsn: of a superuser.
        claim_key: 32 bytes.

    Returns:
        Whether anything changed.

    Raises:
        InputError: the role is not a superuser, or pgvector is absent or too old.
        MigrationFailed: a statement failed; nothing changed.
    """
    try:
        connection = await asyncpg.connect(dsn, timeout=10, command_timeout=600)
    except (asyncpg.PostgresError, OSError, TimeoutError, ValueError) as error:
        raise MigrationFailed(f"the database does not answer: {reason(error)}") from error
    try:
        async with connection.transaction():
            return await _Migration(connection).run(claim_key, collections, models)
    except asyncpg.PostgresError as error:
        raise MigrationFailed(f"the database refused a statement: {reason(error)}") from error
    finally:
        await connection.close(timeout=10)


class _Migration:
    def __init__(self, connection: asyncpg.Connection[Any]) -> None:
        self._connection = connection
        self._changed = False

    async def run(
        self, claim_key: bytes, collections: Sequence[CollectionSettings], models: Sequence[EmbeddingSettings]
    ) -> bool:
        connection = self._connection
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        if not await connection.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = current_user"):
            raise InputError("expected a superuser for the migration", hint="run it as the role postgres")
        await self._roles_and_extensions()
        if await connection.fetchval("SELECT to_regclass('retrieval.migration') IS NULL"):
            await self._apply("schema.sql")
        await self._apply_if_changed("functions.sql")
        await self._claim_key(claim_key)
        has_new_table = await self._vector_tables(collections, models)
        await self._apply_if_changed("policies.sql", anyway=has_new_table)
        return self._changed

    async def _roles_and_extensions(self) -> None:
        for role, options in ((OWNER, "NOLOGIN"), (READER, "NOLOGIN"), (SERVICE, "LOGIN")):
            if not await self._connection.fetchval("SELECT true FROM pg_roles WHERE rolname = $1", role):
                await self._connection.execute(
                    f"CREATE ROLE {role} {options} NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOINHERIT"
                )
                self._changed = True
        for extension in ("vector", "pgcrypto"):
            if not await self._connection.fetchval("SELECT true FROM pg_extension WHERE extname = $1", extension):
                await self._connection.execute(f"CREATE EXTENSION {extension} SCHEMA public")
                self._changed = True
        version = str(await self._connection.fetchval("SELECT extversion FROM pg_extension WHERE extname = 'vector'"))
        if tuple(map(int, version.split(".")[:2])) < MIN_PGVECTOR:
            raise InputError(f"expected pgvector 0.8 or later, got {version}")
        await self._connection.execute("LOAD 'vector'")  # defines hnsw.* for SET clauses of functions
        database = await self._connection.fetchval("SELECT quote_ident(current_database())")
        await self._connection.execute(
            f"REVOKE ALL ON DATABASE {database} FROM PUBLIC;"  # temporary tables included
            f"GRANT CONNECT ON DATABASE {database} TO {SERVICE};"
            "REVOKE CREATE ON SCHEMA public FROM PUBLIC"
        )

    async def _apply_if_changed(self, name: str, *, anyway: bool = False) -> None:
        applied = await self._connection.fetchval("SELECT sha256 FROM retrieval.migration WHERE name = $1", name)
        if anyway or applied != hashlib.sha256(_file(name).encode()).hexdigest():
            await self._apply(name)

    async def _apply(self, name: str) -> None:
        content = _file(name)
        await self._connection.execute(content)
        await self._connection.execute(
            "INSERT INTO retrieval.migration (name, sha256) VALUES ($1, $2)"
            " ON CONFLICT (name) DO UPDATE SET sha256 = excluded.sha256, applied_at = now()",
            name,
            hashlib.sha256(content.encode()).hexdigest(),
        )
        self._changed = True

    async def _claim_key(self, key: bytes) -> None:
        if await self._connection.fetchval("SELECT claim_key = $1 FROM retrieval.installation", key):
            return
        await self._connection.execute(
            "INSERT INTO retrieval.installation (claim_key) VALUES ($1)"
            " ON CONFLICT (only_row) DO UPDATE SET claim_key = excluded.claim_key",
            key,
        )
        self._changed = True

    async def _vector_tables(
        self, collections: Sequence[CollectionSettings], models: Sequence[EmbeddingSettings]
    ) -> bool:
        """Create absent vector tables. Return whether there were any."""
        has_new = False
        model_ids = [await self._model(model) for model in models]
        for collection in collections:
            number = await self._collection(collection)
            for model, model_id in zip(models, model_ids, strict=True):
                table = f"vectors_{number}_{model_id}"
                if await self._connection.fetchval("SELECT true FROM retrieval.vector_table WHERE name = $1", table):
                    continue
                await self._connection.execute(
                    _file("vectors.sql").format(table=table, model=model_id, dimensions=model.dimensions)
                )
                await self._connection.execute(
                    "INSERT INTO retrieval.vector_table VALUES ($1, $2, $3)", number, model_id, table
                )
                self._changed = has_new = True
        return has_new

    async def _model(self, model: EmbeddingSettings) -> int:
        row = await self._connection.fetchrow(
            "SELECT id, dimensions FROM retrieval.model WHERE digest = $1", model.model_digest
        )
        if row is None:
            self._changed = True
            return int(
                await self._connection.fetchval(
                    "INSERT INTO retrieval.model (name, digest, dimensions) VALUES ($1, $2, $3) RETURNING id",
                    model.model,
                    model.model_digest,
                    model.dimensions,
                )
            )
        if row["dimensions"] != model.dimensions:
            raise InputError(
                f"expected {row['dimensions']} dimensions of the model with this digest, got {model.dimensions}",
                where="embedding.dimensions",
                hint="another model needs another `model_digest`",
            )
        return int(row["id"])

    async def _collection(self, collection: CollectionSettings) -> int:
        row = await self._connection.fetchrow(
            "SELECT id, tenants FROM retrieval.collection WHERE name = $1", collection.name
        )
        if row is not None and row["tenants"] == collection.tenants:
            return int(row["id"])
        self._changed = True
        return int(
            await self._connection.fetchval(
                "INSERT INTO retrieval.collection (name, tenants) VALUES ($1, $2)"
                " ON CONFLICT (name) DO UPDATE SET tenants = excluded.tenants RETURNING id",
                collection.name,
                collection.tenants,
            )
        )


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
