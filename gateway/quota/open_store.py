"""Opens the store of leases that the settings name: a SQLite file or PostgreSQL."""

from __future__ import annotations

import asyncio

from ..settings import GatewaySettings
from .sqlite_store import SqliteStore
from .store import Store


async def open_store(settings: GatewaySettings, *, is_trial: bool = False) -> Store | None:
    """Return the store of the settings; None if they name neither a file nor a database.

    Args:
        is_trial: leases do not count.

    Raises:
        InputError: it cannot be opened, or is not a store of quotas.
        QuotaUnavailable: the database does not answer.
    """
    if (path := settings.quota.path) is not None:
        return await asyncio.to_thread(SqliteStore.copy if is_trial else SqliteStore.open, path)
    if settings.vault.postgresql is None:
        return None
    from ..storage.postgresql import Address
    from .postgresql_store import PostgresqlStore  # loads its driver only if needed

    return await PostgresqlStore.open(Address.of(settings.vault.postgresql), is_trial=is_trial)
