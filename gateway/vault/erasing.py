"""Erasure by key destruction: of a conversation, of a person's values in all of a tenant's conversations, of a tenant.

    1  rings of data keys are destroyed, or wrapped anew without the keys of the values in question; small batches,
       each counted in the transaction that destroys it (`erasures`); the conversations begin a new generation
    2  everything that is left goes under a new wrapping key, and the old one is destroyed (`rotation`): now a copy of
       the destroyed rings opens with no key that exists, unless the copy has the table `keys` and its KEK as well
    3  the ledger is told (`gateway.erased`), by a gateway or by the command

Gateways need not be told: the store refuses what they would add to a generation that is over, and gives them nothing
of it. Conversations that came in while it went on and were not there when it began are not part of an erasure.

    eraser = Eraser(store, keys, index, now=..., forget=...)
    await eraser.erase(scope, by="dpo")
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from ..tokens.conversation import Conversation
from .database.erasures import Erasure, Redaction
from .database.rows import Row
from .database.store import Store
from .encryption.blind_index import BlindIndex
from .encryption.errors import VaultFailed, WrappingKeyGone, WrappingKeyRetired
from .encryption.sealing import entropy_bytes, without
from .rotation import rotate
from .wrapping import VaultKeys

TOMBSTONE_S = 31_536_000
"""How long an erased conversation's generation is remembered: as long as a vault may keep anything (`ttl_s`)."""

_AT_ONCE = 100  # conversations in one transaction, a few milliseconds; gateways write in between
_MOST_ATTEMPTS = 8  # each one lost to a gateway or a rotation that changed the same conversation just then
_TOUCH_EVERY_S = 60.0


@dataclass(frozen=True)
class Scope:
    """What is to be erased. Holds no name and no value."""

    kind: Literal["conversation", "subject", "tenant"]
    digest: bytes
    """Keyed, of what the operator named; for the record."""
    conversations: tuple[bytes, ...] = ()
    tenant: bytes = b""
    subjects: frozenset[bytes] = frozenset()


class Eraser:
    """Erases in one vault.

    Args:
        forget: called with each conversation of which something is gone.
    """

    def __init__(
        self,
        store: Store,
        keys: VaultKeys,
        index: BlindIndex,
        *,
        now: Callable[[], int],
        forget: Callable[[bytes], None],
    ) -> None:
        self._store = store
        self._keys = keys
        self._index = index
        self._now = now
        self._forget = forget

    def conversation(self, key: str) -> Scope:
        """A conversation by its key, 64 hex digits, and what its hand-offs hold."""
        conversation = Conversation("", key, True)
        places = (conversation, conversation.beside("hand-offs"))
        return Scope("conversation", bytes.fromhex(key), tuple(bytes.fromhex(each.key) for each in places))

    def tenant(self, name: str) -> Scope:
        """Everything of a tenant."""
        tenant = self._index.tenant(name)
        return Scope("tenant", tenant, tenant=tenant)

    def subject(self, tenant: str, values: Sequence[str]) -> Scope:
        """A person's values, in whatever spelling, in every conversation of a tenant."""
        digest = self._index.tenant(tenant)
        subjects = frozenset(self._index.subjects(digest, values))
        return Scope("subject", self._index.scope(digest, subjects), tenant=digest, subjects=subjects)

    async def conversations(self, scope: Scope) -> AsyncIterator[list[bytes]]:
        """The conversations that may lose something, in batches."""
        if scope.conversations:
            yield list(scope.conversations)
            return
        after = b""
        while found := await self._store.erasures.conversations(
            scope.tenant, scope.subjects, after=after, limit=_AT_ONCE
        ):
            yield found
            after = found[-1]

    async def erase(self, scope: Scope, *, by: str, progress: Callable[[int], None] = lambda _: None) -> Erasure:
        """Erase; what was destroyed. Its record is left to whoever claims it.

        Args:
            by: the account that asked for it.
            progress: called with the number of conversations looked at, after each batch.

        Raises:
            VaultFailed: the database or a token can't be used; what was destroyed stays destroyed and is recorded.
        """
        erasures, erasure_id = self._store.erasures, os.urandom(16).hex()
        await erasures.begin(Erasure(erasure_id, self._now(), by, scope.kind, scope.digest.hex()))
        destroyed = 0
        async with self._going_on(erasure_id):
            done = 0
            async for batch in self.conversations(scope):
                if scope.subjects:
                    await self._redact(batch, scope, erasure_id)
                else:
                    await erasures.destroy_conversations(batch, until=self._now() + TOMBSTONE_S, erasure_id=erasure_id)
                for conversation in batch:
                    self._forget(conversation)
                done += len(batch)
                progress(done)
            try:
                rotation = await rotate(self._store, self._keys, now=self._now(), renew=True, progress=lambda *_: None)
                destroyed = rotation.destroyed
            finally:
                erasure = await erasures.finish(erasure_id, wrapping_keys=destroyed)
        return erasure

    async def _redact(self, conversations: list[bytes], scope: Scope, erasure_id: str) -> None:
        for _ in range(_MOST_ATTEMPTS):
            rows = await self._store.read(conversations)
            try:
                redactions = [each for row in rows if (each := await self._redacted(row, scope)) is not None]
                if not redactions:
                    return
                key = self._keys.current
                misfits = await self._store.erasures.redact(redactions, wrapping_key=key, erasure_id=erasure_id)
            except (WrappingKeyRetired, WrappingKeyGone):
                await self._keys.refresh()
            else:
                conversations = sorted(misfits)
        raise VaultFailed(
            f"expected to change a conversation in {_MOST_ATTEMPTS} attempts, got overtaken in each",
            where=self._store.where,
            hint="start the erasure again",
        )

    async def _redacted(self, row: Row, scope: Scope) -> Redaction | None:
        """The piece without these subjects; None when it has nothing of them."""
        if row.piece is None or row.keys is None or row.tenant != scope.tenant:
            return None
        old, current = await self._keys.cipher(row.wrapping_key), self._keys.current
        piece, count = without(
            row.piece,
            scope.subjects,
            place=row.place,
            wrapping=old,
            rewrapping=self._keys.ciphers[current],
            entropy=os.urandom(entropy_bytes(0)),
        )
        if not count:
            return None
        changed = row._replace(wrapping_key=current, keys=piece.keys, subjects=piece.subjects, sealed=piece.sealed)
        return Redaction(changed, row.keys, count)

    @asynccontextmanager
    async def _going_on(self, erasure_id: str) -> AsyncIterator[None]:
        """Says now and then that the erasure was not cut off."""

        async def touch() -> None:
            while True:
                await asyncio.sleep(_TOUCH_EVERY_S)
                with contextlib.suppress(VaultFailed):  # the erasure itself says so, if it lasts
                    await self._store.erasures.touch(erasure_id, now=self._now())

        touching = asyncio.create_task(touch(), name="erasure")
        try:
            yield
        finally:
            touching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await touching
