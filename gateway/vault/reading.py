"""Reads the values of conversations, several requests in one query, and updates the cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from ..tokens.conversation import Conversation
from .conversation_cache import ConversationCache, entry_of
from .database.rows import Row
from .database.store import Store
from .encryption.blind_index import BlindIndex
from .encryption.errors import VaultFailed, WrappingKeyGone
from .encryption.sealing import Place, unseal
from .wrapping import VaultKeys

_MAX_LOADED = 100_000  # values of one conversation; tokens beyond it are not restored


class ReadRequest:
    """A request for a conversation's values, with its future."""

    __slots__ = ("conversation", "future", "tenant")

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = bytes.fromhex(conversation.key)
        self.tenant = conversation.tenant
        self.future: asyncio.Future[dict[str, str]]


class Reader:
    """Reads one vault."""

    def __init__(
        self, store: Store, keys: VaultKeys, index: BlindIndex, cache: ConversationCache, now: Callable[[], int]
    ) -> None:
        self._store = store
        self._keys = keys
        self._index = index
        self._cache = cache
        self._now = now

    async def read_batch(self, requests: list[ReadRequest]) -> None:
        """Set a result or an exception on every request."""
        found = await self.read({request.conversation: request.tenant for request in requests})
        for request in requests:
            holding = found[request.conversation]
            if request.future.done():
                continue
            if isinstance(holding, VaultFailed):
                request.future.set_exception(holding)
            else:
                request.future.set_result(dict(holding))

    async def read(self, tenants: Mapping[bytes, str]) -> dict[bytes, dict[str, str] | VaultFailed]:
        """Return the values of each conversation, or the error that prevents reading it.

        Args:
            tenants: conversation -> the tenant it must belong to.
        """
        found = await self._read(tenants)
        overtaken = {each: tenants[each] for each, values in found.items() if isinstance(values, WrappingKeyGone)}
        return found | await self._read(overtaken) if overtaken else found

    async def _read(self, tenants: Mapping[bytes, str]) -> dict[bytes, dict[str, str] | VaultFailed]:
        rows: dict[bytes, list[Row]] = {conversation: [] for conversation in tenants}
        for row in await self._store.read(list(tenants)):
            rows[row.conversation].append(row)
        now = self._now()
        found: dict[bytes, dict[str, str] | VaultFailed] = {}
        for conversation, tenant in tenants.items():
            try:
                values = await self._unsealed(rows[conversation], self._index.tenant(tenant))
            except VaultFailed as error:  # the other requests of the batch are not affected
                self._cache.drop(conversation)
                found[conversation] = error
                continue
            entry = entry_of(rows[conversation], values)
            if entry is None:
                self._cache.drop(conversation)
            else:
                self._cache.put(conversation, entry)
            found[conversation] = values if entry is not None and entry.is_active(now) else {}
        return found

    async def _unsealed(self, rows: list[Row], tenant: bytes) -> dict[str, str]:
        values: dict[str, str] = {}
        for row in rows:
            piece = row.piece
            if piece is not None and len(values) < _MAX_LOADED:
                place = Place(tenant, row.conversation, row.seq)
                values |= unseal(piece, place=place, wrapping=await self._keys.cipher(row.wrapping_key))
        return values
