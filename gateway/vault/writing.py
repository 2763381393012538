"""Writes the values that requests issued, many requests in one transaction, without repeating known values.

The cache of this process (`conversation_cache`) determines what to write. The store returns the conversations that
differ from the cache, because another process wrote or erased there. These are read and tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping

from sovctl.support.random_bytes import random_bytes

from ..tokens.conversation import Conversation
from .conversation_cache import ConversationCache, Entry
from .database.rows import ConversationRestart, ConversationUpdate, Row
from .database.store import Batch, Store
from .encryption.blind_index import BlindIndex
from .encryption.errors import Superseded, TenantFull, VaultFailed, WrappingKeyRetired
from .encryption.sealing import Place, entropy_bytes, seal
from .reading import Reader
from .tenant_rows import TenantRows
from .wrapping import VaultKeys

Subjects = Mapping[str, Collection[str]]
"""Token -> the identifiers in its value, as written and normalised."""

_MAX_ATTEMPTS = 8  # an attempt fails if another process writes to the same conversation concurrently
# A conversation's expiry is written again after this part of its lifetime, so that not every turn has to write.
_EXTEND_AFTER = 1 / 16


class WriteRequest:
    """A request to store values, with its future."""

    __slots__ = ("conversation", "future", "generation", "issued", "keep_s", "key_version", "subjects", "tenant")

    def __init__(
        self,
        conversation: Conversation,
        issued: Mapping[str, str],
        subjects: Subjects,
        generation: int,
        keep_s: int | None = None,
    ) -> None:
        self.conversation = bytes.fromhex(conversation.key)
        self.tenant = conversation.tenant
        self.key_version = conversation.key_version
        self.issued = issued
        self.subjects = subjects
        self.generation = generation
        self.keep_s = keep_s
        self.future: asyncio.Future[None]

    def finish(self, error: VaultFailed | None = None) -> None:
        """Set the result or the exception, unless the caller cancelled."""
        if self.future.done():
            return
        if error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(error)


class _ConversationWrite:
    """The combined requests for one conversation."""

    __slots__ = ("begins", "entry", "expires_at", "fresh", "keep_s", "key_version", "requests", "subjects", "tenant")

    def __init__(self, entry: Entry | None, tenant: str, key_version: int, keep_s: int) -> None:
        self.entry = entry
        self.keep_s = keep_s
        self.tenant = tenant
        self.key_version = key_version
        self.begins = False
        self.expires_at: int | None = None  # the new expiry, if it is renewed
        self.fresh: dict[str, str] = {}
        self.subjects: dict[str, Collection[str]] = {}
        self.requests: list[WriteRequest] = []


class Writer:
    """Writes to one vault."""

    def __init__(
        self,
        store: Store,
        keys: VaultKeys,
        index: BlindIndex,
        cache: ConversationCache,
        reader: Reader,
        *,
        ttl_s: int,
        now: Callable[[], int],
        max_rows_per_tenant: int | None = None,
    ) -> None:
        self._store = store
        self._keys = keys
        self._index = index
        self._cache = cache
        self._reader = reader
        self._ttl_s = ttl_s
        self._now = now
        self._rows = TenantRows(limit=max_rows_per_tenant, window_s=ttl_s)

    async def write_batch(self, requests: list[WriteRequest]) -> None:
        """Set a result on every request.

        Raises:
            VaultFailed: for all requests without a result.
        """
        for attempt in range(_MAX_ATTEMPTS):
            now = self._now()
            writes = self._conversation_writes(requests, now, has_read=attempt > 0)
            try:
                conflicts = await self._store.write(self._batch(writes, now)) if writes else set()
            except WrappingKeyRetired:
                await self._keys.refresh()
                continue
            except BaseException:
                for conversation in writes:
                    self._cache.drop(conversation)  # it is unknown which rows reached the disk
                raise
            for conversation, write in writes.items():
                if conversation not in conflicts:
                    self._keep(conversation, write)
            requests = [request for request in requests if not request.future.done()]
            if not requests:
                return
            found = await self._reader.read({request.conversation: request.tenant for request in requests})
            for request in requests:
                holding = found[request.conversation]
                if isinstance(holding, VaultFailed):
                    request.finish(holding)
        raise VaultFailed(
            f"a conversation could not be written in {_MAX_ATTEMPTS} attempts, because other processes changed it",
            where=self._store.where,
        )

    def _conversation_writes(
        self, requests: list[WriteRequest], now: int, *, has_read: bool
    ) -> dict[bytes, _ConversationWrite]:
        """Return the changes by conversation. Requests that cannot be fulfilled get an exception."""
        writes: dict[bytes, _ConversationWrite] = {}
        for request in requests:
            write = writes.get(request.conversation)
            if write is None:
                entry, keep_s = self._cache.get(request.conversation), request.keep_s or self._ttl_s
                write = _ConversationWrite(entry, request.tenant, request.key_version, keep_s)
            entry = write.entry
            generation = entry.generation if entry is not None else 0
            if request.generation != generation:
                if entry is not None or has_read:
                    request.finish(Superseded(generation))
                continue  # only this process's cache may lack the conversation
            seen = entry.seen if entry is not None and entry.is_active(now) else {}
            fresh: Mapping[str, str] | None = request.issued
            if seen or write.fresh:
                fresh = _unseen(request.issued, seen, write.fresh)
            if fresh is None:
                request.finish(VaultFailed("a token already has another value"))
                continue
            if fresh and self._rows.is_full(request.tenant, now):
                request.finish(TenantFull("the tenant has used up its rows", where="vault.max_rows_per_tenant"))
                continue
            write.fresh |= fresh
            write.subjects |= request.subjects
            write.requests.append(request)
            writes[request.conversation] = write
        return writes

    def _batch(self, writes: Mapping[bytes, _ConversationWrite], now: int) -> Batch:
        batch = Batch(self._keys.current, now)
        for conversation, write in writes.items():
            until, extend_before = now + write.keep_s, now + write.keep_s * (1 - _EXTEND_AFTER)
            entry = write.entry
            if entry is not None and entry.is_active(now):
                write.expires_at = until if write.fresh or entry.expires_at < extend_before else None
                row = self._row(conversation, write, entry.pieces, entry.generation, until) if write.fresh else None
                batch.grow.append(ConversationUpdate(conversation, entry.generation, write.expires_at, row))
                continue
            write.begins, write.expires_at = True, until
            if entry is None:
                batch.begin.append(self._row(conversation, write, 0, 0, until))
            else:
                row = self._row(conversation, write, 0, entry.generation, until)
                batch.revive.append(ConversationRestart(row, entry.generation, entry.expires_at))
        return batch

    def _row(self, conversation: bytes, write: _ConversationWrite, seq: int, generation: int, expires_at: int) -> Row:
        tenant = self._index.tenant(write.tenant)
        subjects = {
            token: self._index.subjects(tenant, about)
            for token, about in write.subjects.items()
            if token in write.fresh
        }
        key_id = self._keys.current
        piece = seal(
            write.fresh,
            subjects,
            place=Place(tenant, conversation, seq),
            wrapping=self._keys.ciphers[key_id],
            entropy=random_bytes(entropy_bytes(len(write.fresh))),
        )
        return Row(conversation, seq, tenant, write.key_version, generation, expires_at, key_id, *piece)

    def _keep(self, conversation: bytes, write: _ConversationWrite) -> None:
        """Update the cache and set the results."""
        entry = write.entry
        if write.fresh or write.begins:
            self._rows.add(write.tenant, self._now())
        if write.begins:
            entry = Entry(entry.generation if entry else 0, write.expires_at or 0, is_living=True, pieces=1)
        else:
            assert entry is not None
            entry.pieces += bool(write.fresh)
            entry.expires_at = write.expires_at or entry.expires_at
        for token, value in write.fresh.items():
            entry.seen[token] = hash(value)
        self._cache.put(conversation, entry)
        for request in write.requests:
            request.finish()


def _unseen(issued: Mapping[str, str], seen: Mapping[str, int], fresh: Mapping[str, str]) -> dict[str, str] | None:
    """Return the values that are not stored yet; None if a token already has another value.

    Args:
        seen: stored values.
        fresh: values of this batch.
    """
    unseen: dict[str, str] = {}
    for token, value in issued.items():
        if token in seen:
            if seen[token] != hash(value):
                return None
        elif fresh.get(token, value) == value:
            unseen[token] = value
        else:
            return None
    return unseen
