"""Opens a schema in PostgreSQL: creates it if absent, and rejects another version.

SCHEMA = Schema("sovctl_quotas", "a store of quotas", TABLES, version=1, lock=0x736F7671)
await open_schema(link, SCHEMA.prepare, version=SCHEMA.version, what=SCHEMA.what)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from sovctl.support.errors import InputError

from .postgresql import PostgresqlLink


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables of one component."""

    name: str
    what: str
    """Name for messages, such as `a store of quotas`."""
    tables: str
    """The CREATE statements."""
    version: int
    lock: int
    """Advisory lock that serializes changes of the schema."""
    later: Mapping[str, str] = field(default_factory=dict)
    """CREATE statements by table, for tables that earlier releases did not have."""

    async def prepare(self, connection: asyncpg.Connection[Any]) -> int:
        """Create the tables if absent, and return the version in the database."""
        async with connection.transaction():
            await self.alone(connection)
            if await connection.fetchval("SELECT to_regclass($1) IS NULL", f"{self.name}.meta"):
                await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self.name}")
                await connection.execute(self.tables)
                await connection.execute("CREATE TABLE meta (version integer NOT NULL)")
                await connection.execute("INSERT INTO meta VALUES ($1)", self.version)
            version = int(await connection.fetchval("SELECT version FROM meta"))
            for table, statement in self.later.items() if version == self.version else ():
                if await connection.fetchval("SELECT to_regclass($1) IS NULL", f"{self.name}.{table}"):
                    await connection.execute(statement)
            return version

    async def alone(self, connection: asyncpg.Connection[Any]) -> None:
        """Take the advisory lock until the end of the transaction."""
        await connection.execute("SELECT pg_advisory_xact_lock($1)", self.lock)


async def open_schema(
    link: PostgresqlLink,
    prepare: Callable[[asyncpg.Connection[Any]], Awaitable[object]],
    *,
    version: object,
    what: str,
) -> None:
    """Check that the schema of `link` has this version.

    Args:
        prepare: creates or migrates the schema, and returns its version.

    Raises:
        InputError: it has another version.
        StorageFailed: the database failed; raised by `link`.
    """
    if (found := await link.run(prepare)) != version:
        raise InputError(
            f"expected {what} of version {version}, got {found}",
            where=link.where,
            hint="was it made by a newer sovctl?",
        )
