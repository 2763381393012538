"""The queue of hand-offs in PostgreSQL, beside the vault, for the gateways of several hosts.

An advisory lock lets one change be made at a time, as a file does: hand-offs are rare, and their number has a limit
that no two hosts may pass together.
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
    """See `Tables`. Made by `open`."""

    def __init__(self, address: Address) -> None:
        self._link = PostgresqlLink(
            address, schema=SCHEMA.name, failure=QueueFailed, hint="answers that are held back are refused meanwhile"
        )
        self.where = self._link.where

    @classmethod
    async def open(cls, address: Address) -> PostgresqlTables:
        """Connect; make the schema where there is none.

        Raises:
            InputError: the schema is of another version.
            QueueFailed: the database can't be used.
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

        # Done again, it would say of its own work that somebody else did it.
        return await self._link.run(use, is_repeatable=False)

    async def close(self) -> None:
        """See `Tables.close`."""
        await self._link.close()
