"""Opens the vault of the settings. Drivers are imported on use, because most gateways need none of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from sovctl.support.errors import InputError
from sovctl.support.secret_files import parse_key, read_key, read_secret
from sovctl.support.stall_timeout import DISK_TIMEOUT_S

from ..settings import KekSettings, VaultSettings
from .database.sqlite_file import BUSY_TIMEOUT_S
from .database.sqlite_store import SqliteStore
from .database.store import Store
from .encryption.keks import Kek, LocalKek
from .vault import Vault

# Each variable is read once and removed, so that child processes and dumps of the environment do not contain it.
_FROM_ENVIRONMENT: dict[str, LocalKek] = {}


def load_keks(settings: VaultSettings) -> list[Kek]:
    """Return the KEKs of the settings, the current one first.

    Raises:
        InputError: one is unreadable, or listed twice.
    """
    keks = [_load_kek(each) for each in settings.keks]
    if len({kek.id for kek in keks}) != len(keks):
        raise InputError("a KEK is listed twice", where="vault.kek")
    return keks


def _load_kek(settings: KekSettings) -> Kek:
    if settings.file is not None:
        return LocalKek(read_key(settings.file))
    if settings.pkcs11 is not None:
        from .encryption.pkcs11_kek import Pkcs11Kek

        return Pkcs11Kek(settings.pkcs11, read_secret(settings.pkcs11.pin_file).splitlines()[0].strip())
    assert settings.env is not None
    text = os.environ.pop(settings.env, None)
    if text is not None:
        _FROM_ENVIRONMENT[settings.env] = LocalKek(parse_key(text, where=f"environment: {settings.env}"))
    if settings.env not in _FROM_ENVIRONMENT:
        raise InputError("the variable is unset", where=f"environment: {settings.env}")
    return _FROM_ENVIRONMENT[settings.env]


async def open_vault(
    settings: VaultSettings,
    keks: Sequence[Kek],
    *,
    statement_timeout_s: float | None = None,
    disk_timeout_s: float = DISK_TIMEOUT_S,
) -> Vault:
    """Open the vault; create it if absent.

    Args:
        statement_timeout_s: timeout of one statement or lock; None: the default for requests.
        disk_timeout_s: timeout of a request for a store that does not answer.

    Raises:
        InputError: the database cannot be opened, is not a vault, or was created under another key.
        VaultFailed: the database failed.
    """
    store = await _open_store(settings, statement_timeout_s)
    return await Vault.open(
        store,
        keks,
        ttl_s=settings.ttl_s,
        disk_timeout_s=disk_timeout_s,
        max_rows_per_tenant=settings.max_rows_per_tenant,
    )


async def _open_store(settings: VaultSettings, statement_timeout_s: float | None) -> Store:
    if settings.postgresql is not None:
        from ..storage.postgresql import Address
        from .database.postgresql_store import PostgresqlStore

        address = Address.of(settings.postgresql)
        return await PostgresqlStore.open(
            replace(address, statement_timeout_s=statement_timeout_s) if statement_timeout_s else address
        )
    assert settings.path is not None
    return SqliteStore.open(settings.path, busy_timeout_s=statement_timeout_s or BUSY_TIMEOUT_S)
