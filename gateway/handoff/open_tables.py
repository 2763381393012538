"""Opens the tables of the hand-off queue that the settings name: a SQLite file or PostgreSQL."""

from __future__ import annotations

import asyncio

from ..settings import GatewaySettings
from .sqlite_tables import SqliteTables
from .tables import Tables


async def open_tables(settings: GatewaySettings) -> Tables:
    """Open the tables of the settings, and create them if absent.

    Raises:
        InputError: the file or schema cannot be opened, or is not a queue of hand-offs.
        QueueFailed: the database does not answer.
    """
    if (path := settings.handoff_path) is not None:
        return await asyncio.to_thread(SqliteTables.open, path, disk_timeout_s=settings.disk_timeout_s)
    from ..storage.postgresql import Address
    from .postgresql_tables import PostgresqlTables  # loads its driver only if needed

    assert settings.vault.postgresql is not None
    return await PostgresqlTables.open(Address.of(settings.vault.postgresql))
