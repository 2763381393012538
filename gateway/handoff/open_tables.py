"""Opens the tables of the hand-off queue that the settings name: a SQLite file or PostgreSQL."""

from __future__ import annotations

import asyncio

from ..settings import GatewaySettings
from .sqlite_tables import SqliteTables
from .tables import Tables


async def open_tables(settings: GatewaySettings) -> Tables:
    """The tables of these settings; made when absent.

    Raises:
        InputError: no file or schema of this kind, or not to be opened.
        QueueFailed: the database does not answer.
    """
    if (path := settings.handoff_path) is not None:
        return await asyncio.to_thread(SqliteTables.open, path, disk_timeout_s=settings.disk_timeout_s)
    from ..storage.postgresql import Address
    from .postgresql_tables import PostgresqlTables  # its driver is loaded where it is used

    assert settings.vault.postgresql is not None
    return await PostgresqlTables.open(Address.of(settings.vault.postgresql))
