"""The vault's own keys: the wrapping keys of the data keys, and the key of the blind index.

They are random, wrapped under a KEK, and stored in the database. A KEK in a hardware token is therefore used a few
times a day and not for every request. New rings are wrapped under the current wrapping key; older keys only unwrap.
A wrapping key is replaced every day, because AES-GCM with random nonces allows 2^32 uses of one key (NIST SP 800-38D
8.3), which corresponds to 49,000 new conversations a second.

    keys = await VaultKeys.open(store, keks, now=...)
    keys.ciphers[keys.current], keys.index_key
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Self

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sovctl.support.errors import InputError

from .database.rows import KeyRow
from .database.store import Store
from .encryption.errors import VaultFailed, WrappingKeyGone
from .encryption.keks import Kek
from .encryption.sealing import KEY_BYTES

RENEW_AFTER_S = 86_400
_WRAP, _INDEX = "wrap", "index"


class VaultKeys:
    """The unwrapped keys of one vault. Created by `open`."""

    def __init__(self, store: Store, keks: Sequence[Kek]) -> None:
        self._store = store
        self._keks = {kek.id: kek for kek in keks}
        self._kek = keks[0]
        self._newest = KeyRow(0, _WRAP, "", b"", 0, is_retired=False)
        self.ciphers: dict[int, AESGCM] = {}
        """The wrapping keys by id; `cipher` and `refresh` add the ones of other processes."""
        self.index_key = b""

    @classmethod
    async def open(cls, store: Store, keks: Sequence[Kek], *, now: int) -> Self:
        """Unwrap the keys of a vault; create the first ones of a new vault.

        Args:
            keks: the first one wraps, all unwrap.

        Raises:
            InputError: a key of the vault is wrapped under none of `keks`.
            VaultFailed: the database or a hardware token failed.
        """
        keys = cls(store, keks)
        if not await store.keys():
            await store.add_keys([await keys._made(_WRAP, now), await keys._made(_INDEX, now)], after=None)
        try:
            await keys.refresh()
        except _UnknownKek as error:
            raise InputError(
                "none of the KEKs opens this vault",
                where=store.where,
                hint="restore the KEK from its backup, or list it as well; without it the values cannot be read",
            ) from error
        return keys

    @property
    def current(self) -> int:
        """Id of the wrapping key for new rows."""
        return self._newest.id

    @property
    def kek_id(self) -> str:
        """Id of the KEK that wraps new keys."""
        return self._kek.id

    async def cipher(self, key_id: int) -> AESGCM:
        """Return the wrapping key with that id.

        Raises:
            WrappingKeyGone: the vault does not contain the key, or no longer.
            VaultFailed: this process has no KEK for it.
        """
        if key_id not in self.ciphers:
            await self.refresh()
        if key_id not in self.ciphers:
            raise WrappingKeyGone
        return self.ciphers[key_id]

    async def rows(self) -> list[KeyRow]:
        """Return all keys in the database, by id."""
        return await self._store.keys()

    async def refresh(self) -> None:
        """Load keys that other processes added, and drop the ones they removed.

        Raises:
            VaultFailed: one of them is wrapped under a KEK that this process does not have.
        """
        rows = await self._store.keys()
        ciphers: dict[int, AESGCM] = {}
        for row in rows:
            if row.purpose == _INDEX:
                self.index_key = self.index_key or await self._unwrapped(row)
            else:
                ciphers[row.id] = self.ciphers.get(row.id) or AESGCM(await self._unwrapped(row))
        newest = max((row for row in rows if row.purpose == _WRAP and not row.is_retired), default=None)
        if newest is None:
            raise VaultFailed("the vault has no current wrapping key", where=self._store.where)
        self.ciphers, self._newest = ciphers, newest

    async def renew(self, now: int) -> bool:
        """Create a new wrapping key if the current one is a day old. Return True if this process created it."""
        return now - self._newest.created_at >= RENEW_AFTER_S and await self.begin(now)

    async def begin(self, now: int) -> bool:
        """Create a new wrapping key. Return False if another process created one concurrently."""
        is_ours = await self._store.add_keys([await self._made(_WRAP, now)], after=self.current)
        await self.refresh()
        return is_ours

    async def adopt_kek(self, now: int) -> None:
        """Wrap the current wrapping key and the blind index's key under the current KEK.

        Raises:
            VaultFailed: the database or a hardware token failed.
        """
        await self.refresh()
        while self._newest.kek != self.kek_id:
            await self.begin(now)
        for row in await self._store.keys():
            if row.purpose == _INDEX and row.kek != self.kek_id:
                wrapped = await asyncio.to_thread(self._kek.wrap, self.index_key, row.purpose.encode())
                await self._store.wrap_again(row._replace(kek=self.kek_id, wrapped=wrapped), row.wrapped)

    async def _made(self, purpose: str, now: int) -> KeyRow:
        wrapped = await asyncio.to_thread(self._kek.wrap, os.urandom(KEY_BYTES), purpose.encode())
        return KeyRow(0, purpose, self.kek_id, wrapped, now, is_retired=False)

    async def _unwrapped(self, row: KeyRow) -> bytes:
        kek = self._keks.get(row.kek)
        if kek is None:
            raise _UnknownKek(
                "a key of the vault is wrapped under a KEK that this gateway does not have",
                where=self._store.where,
                hint="list the new KEK in every gateway's settings before `vault rotate`",
            )
        return await asyncio.to_thread(kek.unwrap, row.wrapped, row.purpose.encode())


class _UnknownKek(VaultFailed):
    pass
