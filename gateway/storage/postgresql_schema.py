"""How a schema of ours in PostgreSQL is opened: made where there is none, of the version that we know, or refused.

SCHEMA = Schema("sovctl_quotas", "a store of quotas", TABLES, version=1, lock=0x736F7671)
await open_schema(link, SCHEMA.prepare, version=SCHEMA.version, what=SCHEMA.what)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import asyncpg

from sovctl.support.errors import InputError

from .postgresql import PostgresqlLink


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables of one purpose."""

    name: str
    what: str
    """In words, such as `a store of quotas`."""
    tables: str
    """The statements that make them."""
    version: int
    lock: int
    """An advisory lock: one changes them at a time."""

    async def prepare(self, connection: asyncpg.Connection[Any]) -> int:
        """Make them where there are none; the version of what is there."""
        async with connection.transaction():
            await self.alone(connection)
            if await connection.fetchval("SELECT to_regclass($1) IS NULL", f"{self.name}.meta"):
                await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self.name}")
                await connection.execute(self.tables)
                await connection.execute("CREATE TABLE meta (version integer NOT NULL)")
                await connection.execute("INSERT INTO meta VALUES ($1)", self.version)
            return int(await connection.fetchval("SELECT version FROM meta"))

    async def alone(self, connection: asyncpg.Connection[Any]) -> None:
        """Wait until nobody else changes them, and keep others waiting until the transaction ends."""
        await connection.execute("SELECT pg_advisory_xact_lock($1)", self.lock)


async def open_schema(
    link: PostgresqlLink,
    prepare: Callable[[asyncpg.Connection[Any]], Awaitable[object]],
    *,
    version: object,
    what: str,
) -> None:
    """Return when what is behind `link` is of this version.

    Args:
        prepare: makes or migrates it; the version that it found or made.

    Raises:
        InputError: it is of another version.
        SovctlError: the database can't be used; as `link` says it.
    """
    if (found := await link.run(prepare)) != version:
        raise InputError(
            f"expected {what} of version {version}, got {found}",
            where=link.where,
            hint="was it made by a newer sovctl?",
        )
