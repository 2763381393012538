"""Writes the values that requests issued, many requests in one transaction, without repeating known values.

The cache of this process (`known`) determines what to write. The store returns the conversations that differ from the
cache, because another process wrote or erased there. These are read and tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping

from sovctl.support.random_bytes import random_bytes

from ..tokens.conversation import Conversation
from .database.rows import ConversationRestart, ConversationUpdate, Row
from .database.store import Batch, Store
from .encryption.blind_index import BlindIndex
from .encryption.errors import Superseded, VaultFailed, WrappingKeyRetired
from .encryption.sealing import Place, entropy_bytes, seal
from .known import Entry, Known
from .reading import Reader
from .wrapping import VaultKeys

Subjects = Mapping[str, Collection[str]]
"""Token -> the identifiers in its value, as written and normalised."""

_MAX_ATTEMPTS = 8  # an attempt fails if another process writes to the same conversation concurrently
# A conversation's expiry is written again after this part of its lifetime, so that not every turn has to write.
_EXTEND_AFTER = 1 / 16


class Wish:
    """A request to store values, with its future."""

    __slots__ = ("conversation", "future", "generation", "issued", "key_version", "subjects", "tenant")

    def __init__(
        self, conversation: Conversation, issued: Mapping[str, str], subjects: Subjects, generation: int
    ) -> None:
        self.conversation = bytes.fromhex(conversation.key)
        self.tenant = conversation.tenant
        self.key_version = conversation.key_version
        self.issued = issued
        self.subjects = subjects
        self.generation = generation
        self.future: asyncio.Future[None]

    def settle(self, error: VaultFailed | None = None) -> None:
        """Set the result or the exception, unless the caller cancelled."""
        if self.future.done():
            return
        if error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(error)


class _Intent:
    """The combined wishes for one conversation."""

    __slots__ = ("begins", "entry", "expires_at", "fresh", "key_version", "subjects", "tenant", "wishes")

    def __init__(self, entry: Entry | None, tenant: str, key_version: int) -> None:
        self.entry = entry
        self.tenant = tenant
        self.key_version = key_version
        self.begins = False
        self.expires_at: int | None = None  # the new expiry, if it is renewed
        self.fresh: dict[str, str] = {}
        self.subjects: dict[str, Collection[str]] = {}
        self.wishes: list[Wish] = []


class Writer:
    """Writes to one vault."""

    def __init__(
        self,
        store: Store,
        keys: VaultKeys,
        index: BlindIndex,
        known: Known,
        reader: Reader,
        *,
        ttl_s: int,
        now: Callable[[], int],
    ) -> None:
        self._store = store
        self._keys = keys
        self._index = index
        self._known = known
        self._reader = reader
        self._ttl_s = ttl_s
        self._now = now

    async def fulfil(self, wishes: list[Wish]) -> None:
        """Set a result on every wish.

        Raises:
            VaultFailed: for all wishes without a result.
        """
        for attempt in range(_MAX_ATTEMPTS):
            now = self._now()
            intents = self._intents(wishes, now, has_looked=attempt > 0)
            try:
                misfits = await self._store.write(self._batch(intents, now)) if intents else set()
            except WrappingKeyRetired:
                await self._keys.refresh()
                continue
            except BaseException:
                for conversation in intents:
                    self._known.drop(conversation)  # it is unknown which rows reached the disk
                raise
            for conversation, intent in intents.items():
                if conversation not in misfits:
                    self._keep(conversation, intent)
            wishes = [wish for wish in wishes if not wish.future.done()]
            if not wishes:
                return
            found = await self._reader.look({wish.conversation: wish.tenant for wish in wishes})
            for wish in wishes:
                holding = found[wish.conversation]
                if isinstance(holding, VaultFailed):
                    wish.settle(holding)
        raise VaultFailed(
            f"a conversation could not be written in {_MAX_ATTEMPTS} attempts, because other processes changed it",
            where=self._store.where,
        )

    def _intents(self, wishes: list[Wish], now: int, *, has_looked: bool) -> dict[bytes, _Intent]:
        """Return the changes by conversation. Wishes that cannot be fulfilled get an exception."""
        intents: dict[bytes, _Intent] = {}
        for wish in wishes:
            intent = intents.get(wish.conversation)
            if intent is None:
                intent = _Intent(self._known.get(wish.conversation), wish.tenant, wish.key_version)
            entry = intent.entry
            generation = entry.generation if entry is not None else 0
            if wish.generation != generation:
                if entry is not None or has_looked:
                    wish.settle(Superseded(generation))
                continue  # only this process's cache may lack the conversation
            seen = entry.seen if entry is not None and entry.is_active(now) else {}
            fresh: Mapping[str, str] | None = wish.issued
            if seen or intent.fresh:
                fresh = _unseen(wish.issued, seen, intent.fresh)
            if fresh is None:
                wish.settle(VaultFailed("a token already has another value"))
                continue
            intent.fresh |= fresh
            intent.subjects |= wish.subjects
            intent.wishes.append(wish)
            intents[wish.conversation] = intent
        return intents

    def _batch(self, intents: Mapping[bytes, _Intent], now: int) -> Batch:
        batch = Batch(self._keys.current, now)
        until, extend_before = now + self._ttl_s, now + self._ttl_s * (1 - _EXTEND_AFTER)
        for conversation, intent in intents.items():
            entry = intent.entry
            if entry is not None and entry.is_active(now):
                intent.expires_at = until if intent.fresh or entry.expires_at < extend_before else None
                row = self._row(conversation, intent, entry.pieces, entry.generation, until) if intent.fresh else None
                batch.grow.append(ConversationUpdate(conversation, entry.generation, intent.expires_at, row))
                continue
            intent.begins, intent.expires_at = True, until
            if entry is None:
                batch.begin.append(self._row(conversation, intent, 0, 0, until))
            else:
                row = self._row(conversation, intent, 0, entry.generation, until)
                batch.revive.append(ConversationRestart(row, entry.generation, entry.expires_at))
        return batch

    def _row(self, conversation: bytes, intent: _Intent, seq: int, generation: int, expires_at: int) -> Row:
        tenant = self._index.tenant(intent.tenant)
        subjects = {
            token: self._index.subjects(tenant, about)
            for token, about in intent.subjects.items()
            if token in intent.fresh
        }
        key_id = self._keys.current
        piece = seal(
            intent.fresh,
            subjects,
            place=Place(tenant, conversation, seq),
            wrapping=self._keys.ciphers[key_id],
            entropy=random_bytes(entropy_bytes(len(intent.fresh))),
        )
        return Row(conversation, seq, tenant, intent.key_version, generation, expires_at, key_id, *piece)

    def _keep(self, conversation: bytes, intent: _Intent) -> None:
        """Update the cache and set the results."""
        entry = intent.entry
        if intent.begins:
            entry = Entry(entry.generation if entry else 0, intent.expires_at or 0, is_living=True, pieces=1)
        else:
            assert entry is not None
            entry.pieces += bool(intent.fresh)
            entry.expires_at = intent.expires_at or entry.expires_at
        for token, value in intent.fresh.items():
            entry.seen[token] = hash(value)
        self._known.put(conversation, entry)
        for wish in intent.wishes:
            wish.settle()


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
