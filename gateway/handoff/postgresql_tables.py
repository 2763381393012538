"""The tables of the hand-off queue in PostgreSQL, in the database of the vault, for the gateways of several hosts.

An advisory lock serializes changes, as the lock of a SQLite file does. Hand-offs are rare, and the limit of open ones
must hold for all hosts.
"""

from __future__ import annotations

from typing import Any

import asyncpg

from ..storage.postgresql import Address, PostgresqlLink
from ..storage.postgresql_schema import Schema, open_schema
from .tables import SCHEMA as TABLES
from .tables import VERSION, QueueFailed, Step

SCHEMA = Schema("sovctl_handoffs", "a queue of hand-offs", TABLES, version=VERSION, lock=0x736F7668)  # "sovh"


class PostgresqlTables:
    """See `Tables`. Created by `open`."""

    def __init__(self, address: Address) -> None:
        self._link = PostgresqlLink(
            address, schema=SCHEMA.name, failure=QueueFailed, hint="withheld answers are refused until it is available"
        )
        self.where = self._link.where

    @classmethod
    async def open(cls, address: Address) -> PostgresqlTables:
        """Connect, and create the schema if absent.

        Raises:
            InputError: the schema has another version.
            QueueFailed: the database is unavailable.
        """
        tables = cls(address)
        try:
            await open_schema(tables._link, SCHEMA.prepare, version=SCHEMA.version, what=SCHEMA.what)
        except BaseException:
            await tables.close()
            raise
        return tables

    async def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """See `Tables.rows`."""
        return [tuple(row) for row in await self._link.run(lambda connection: connection.fetch(statement, *values))]

    async def change(self, *steps: Step) -> list[int]:
        """See `Tables.change`."""

        async def use(connection: asyncpg.Connection[Any]) -> list[int]:
            async with connection.transaction():
                await SCHEMA.alone(connection)
                done = [await connection.execute(sql, *values) for sql, values in steps]
            return [int(each.rpartition(" ")[2]) for each in done]  # "UPDATE 1", "INSERT 0 1"

        # Not repeatable: a second run would change no row, as if another operator had been first.
        return await self._link.run(use, is_repeatable=False)

    async def close(self) -> None:
        """See `Tables.close`."""
        await self._link.close()
