"""The vault of one gateway process: stores, loads and expires the values of tokens. See the package."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Self

from sovctl.support.stall_timeout import DISK_TIMEOUT_S

from ..storage.store_timeout import store_stall_timeout
from ..tokens.conversation import Conversation
from .commit_queue import CommitQueue
from .conversation_cache import ConversationCache
from .database.erasures import Erasure, Progress
from .database.store import Store
from .disclosure import Disclosure
from .encryption.blind_index import BlindIndex
from .encryption.keks import Kek
from .erasing import TOMBSTONE_S, Eraser
from .reading import Reader, ReadRequest
from .rotation import Rotation, rotate
from .wrapping import VaultKeys
from .writing import Subjects, Writer, WriteRequest

_PURGED_AT_ONCE = 256  # conversations in one transaction, about 5 ms; requests are served in between


class Vault:
    """For asyncio. Created by `open`."""

    def __init__(
        self,
        store: Store,
        keys: VaultKeys,
        *,
        ttl_s: int,
        clock: Callable[[], float],
        disk_timeout_s: float,
        max_rows_per_tenant: int | None = None,
    ) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._cache = ConversationCache()
        self._index = index = BlindIndex(keys.index_key)
        reader = Reader(store, keys, index, self._cache, self._now)
        writer = Writer(
            store,
            keys,
            index,
            self._cache,
            reader,
            ttl_s=ttl_s,
            now=self._now,
            max_rows_per_tenant=max_rows_per_tenant,
        )
        self._reads: CommitQueue[ReadRequest] = CommitQueue(
            reader.read_batch, name="vault reads", stall_timeout=store_stall_timeout("vault", disk_timeout_s)
        )
        self._writes: CommitQueue[WriteRequest] = CommitQueue(
            writer.write_batch, name="vault writes", stall_timeout=store_stall_timeout("vault", disk_timeout_s)
        )
        self.eraser = Eraser(store, keys, index, now=self._now, forget=self._cache.drop)
        """Destroys keys permanently; each erasure has a record."""
        self.disclosure = Disclosure(store, keys, self.eraser)
        """Finds the values of a person."""

    @classmethod
    async def open(
        cls,
        store: Store,
        keks: Sequence[Kek],
        *,
        ttl_s: int,
        clock: Callable[[], float] = time.time,
        disk_timeout_s: float = DISK_TIMEOUT_S,
        max_rows_per_tenant: int | None = None,
    ) -> Self:
        """Open a vault; create it if absent.

        Args:
            store: closed by `close`, and if this function fails.
            keks: the first one wraps, all unwrap.
            ttl_s: seconds after the last `store` during which a conversation can be read.
            clock: seconds since 1970; an argument for tests.
            disk_timeout_s: timeout of `store` and `load` for a store that does not answer.
            max_rows_per_tenant: rows that this process writes for a tenant within `ttl_s`; None for no limit.

        Raises:
            InputError: it was created under another key.
            VaultFailed: the database failed.
        """
        try:
            keys = await VaultKeys.open(store, keks, now=int(clock()))
            return cls(
                store,
                keys,
                ttl_s=ttl_s,
                clock=clock,
                disk_timeout_s=disk_timeout_s,
                max_rows_per_tenant=max_rows_per_tenant,
            )
        except BaseException:
            await store.close()
            raise

    def generation(self, conversation: Conversation) -> int:
        """Return the generation for new tokens of the conversation, from this process's cache; `store` verifies it."""
        entry = self._cache.get(bytes.fromhex(conversation.key))
        return entry.generation if entry else 0

    def store(
        self,
        conversation: Conversation,
        issued: Mapping[str, str],
        *,
        subjects: Subjects | None = None,
        generation: int = 0,
        keep_s: int | None = None,
    ) -> asyncio.Future[None]:
        """Store the values of tokens and renew the conversation's expiry. The future completes when they are durable.
        A caller that does not wait cancels it.

        Args:
            issued: token -> value.
            subjects: token -> identifiers in its value, for erasure; tokens may be absent.
            generation: generation that the tokens were issued with.
            keep_s: lifetime of the conversation from now, in seconds; None: that of the vault.

        Raises:
            Superseded: the conversation was erased since then; issue the tokens again.
            VaultFailed: the values are not durable, or their state is unknown. Do not send the tokens.
        """
        return self._writes.put(WriteRequest(conversation, issued, subjects or {}, generation, keep_s))

    def location(self, purpose: str, name: str) -> Conversation:
        """Return the location of values that belong to no tenant and no version of the token key.

        Args:
            name: a keyed digest of it is the location.
        """
        return Conversation("", self._index.location(purpose, name).hex(), True, 0)

    async def load(self, conversation: Conversation) -> dict[str, str]:
        """Return the values of the conversation's tokens; empty if it expired, was erased or does not exist.

        Raises:
            VaultFailed: it is unreadable or was altered.
        """
        values: dict[str, str] = await self._reads.put(ReadRequest(conversation))
        return values

    async def living(self, conversations: Sequence[Conversation]) -> Conversation | None:
        """Return the first of these conversations that is in the vault and not expired. If the cache contains the
        first one, the database is not queried.

        Raises:
            VaultFailed: one is unreadable or was altered.
        """
        if self._goes_on(conversations[0]):
            return conversations[0]
        await asyncio.gather(*(self._reads.put(ReadRequest(each)) for each in conversations))
        return next((each for each in conversations if self._goes_on(each)), None)

    def _goes_on(self, conversation: Conversation) -> bool:
        entry = self._cache.get(bytes.fromhex(conversation.key))
        return entry is not None and entry.is_active(self._now())

    async def drop(self, conversation: Conversation) -> int:
        """Destroy the keys of a conversation created by a check, without a record. Return the number of its pieces."""
        keys = self.eraser.conversation(conversation.key).conversations
        destroyed = await self._store.erasures.destroy_conversations(
            keys, until=self._now() + TOMBSTONE_S, erasure_id=None
        )
        for key in keys:
            self._cache.drop(key)
        await self._store.forget_copies()
        return destroyed

    async def record_erasures(self, record: Callable[[Erasure], Awaitable[object]]) -> int:
        """Record every unrecorded erasure in the ledger, and return their number.

        Args:
            record: returns when the record is durable. If the process stops after that, the erasure is recorded twice.

        Raises:
            VaultFailed: the database failed.
        """
        count = 0
        while (erasure := await self._store.erasures.claim(now=self._now())) is not None:
            await record(erasure)
            await self._store.erasures.mark_recorded(erasure.id)
            count += 1
        return count

    async def is_recorded(self, erasure: Erasure) -> bool:
        """Return whether the ledger contains the erasure."""
        return await self._store.erasures.is_recorded(erasure.id)

    async def erasure_progress(self) -> Progress:
        """Return the progress of all erasures, of any process; every beginning, destruction and end changes it.

        Raises:
            VaultFailed: the database failed.
        """
        return await self._store.erasures.progress()

    async def purge_expired(self) -> int:
        """Remove expired conversations in small batches, and return their number."""
        purged = 0
        while count := await self._store.purge(self._now(), tombstone_s=TOMBSTONE_S, limit=_PURGED_AT_ONCE):
            purged += count
        if purged:
            await self._store.forget_copies()
        return purged

    @property
    def where(self) -> str:
        """Path or address of the database, for messages."""
        return self._store.where

    async def renew_keys(self) -> bool:
        """Create a new wrapping key if the current one is due. Return True if this process created it."""
        return await self._keys.renew(self._now())

    async def rotate(self, *, renew: bool = False, progress: Callable[[int, int], None] = lambda *_: None) -> Rotation:
        """See `rotation.rotate`."""
        return await rotate(self._store, self._keys, now=self._now(), renew=renew, progress=progress)

    async def status(self) -> Mapping[str, Any]:
        """Return keys and counts as plain values, without names and identifiers."""
        counts, rows = await self._store.counts(self._now()), await self._keys.rows()
        return {
            "store": self.where,
            "kek": self._keys.kek_id,
            "keys": [
                {
                    "id": row.id,
                    "purpose": row.purpose,
                    "kek": row.kek,
                    "age_s": self._now() - row.created_at,
                    "is_current": row.id == self._keys.current or row.purpose == "index",
                    "pieces": counts.pieces.get(row.id, 0),
                }
                for row in rows
            ],
            "conversations_by_token_key_version": {str(version): n for version, n in counts.conversations.items()},
        }

    async def check(self) -> None:
        """Check that the vault is writable.

        Raises:
            VaultFailed: it is not.
        """
        await self._store.check(self._now())

    async def close(self) -> None:
        """Finish the pending jobs and close the database."""
        await self._writes.close()
        await self._reads.close()
        await self._store.close()

    def _now(self) -> int:
        return int(self._clock())
