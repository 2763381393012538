"""Opens the store of leases that the settings name: a SQLite file or PostgreSQL."""

from __future__ import annotations

import asyncio

from ..settings import GatewaySettings
from .sqlite_store import SqliteStore
from .store import Store


async def open_store(settings: GatewaySettings, *, is_trial: bool = False) -> Store | None:
    """The store of the settings; None where nothing can be limited.

    Args:
        is_trial: whatever is leased there is taken from nobody.

    Raises:
        InputError: not a store of this kind, or not to be opened.
        QuotaUnavailable: the database does not answer.
    """
    if (path := settings.quota.path) is not None:
        return await asyncio.to_thread(SqliteStore.copy if is_trial else SqliteStore.open, path)
    if settings.vault.postgresql is None:
        return None
    from ..storage.postgresql import Address
    from .postgresql_store import PostgresqlStore  # its driver is loaded where it is used

    return await PostgresqlStore.open(Address.of(settings.vault.postgresql), is_trial=is_trial)
