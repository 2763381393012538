"""Opens the vault that the settings describe."""

from __future__ import annotations

from collections.abc import Sequence

from sovctl.gateway.keyfiles import read_key
from sovctl.gateway.settings import VaultSettings
from sovctl.gateway.vault.keks import Kek, LocalKek
from sovctl.gateway.vault.postgresql_link import Address
from sovctl.gateway.vault.postgresql_store import PostgresqlStore
from sovctl.gateway.vault.sqlite_store import SqliteStore
from sovctl.gateway.vault.store import Store
from sovctl.gateway.vault.vault import Vault


def load_keks(settings: VaultSettings) -> list[Kek]:
    """The KEKs of the settings, the current one first.

    Raises:
        InputError: one can't be read.
    """
    return [LocalKek(read_key(settings.kek_file))]


async def open_vault(settings: VaultSettings, keks: Sequence[Kek]) -> Vault:
    """Open the vault, or make one.

    Raises:
        InputError: the database can't be opened, is no vault, or was sealed under another key.
        VaultFailed: the database can't be used.
    """
    return await Vault.open(await _open_store(settings), keks, ttl_s=settings.ttl_s)


async def _open_store(settings: VaultSettings) -> Store:
    if settings.postgresql is not None:
        return await PostgresqlStore.open(Address.of(settings.postgresql))
    assert settings.path is not None
    return SqliteStore.open(settings.path)
