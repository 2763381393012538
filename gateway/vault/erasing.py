"""Erasure by key destruction: of a conversation, of a person's values in all conversations of a tenant, of a tenant.

    1  Rings of data keys are destroyed, or wrapped again without the keys of the values in question. Batches are small,
       and each is counted in the transaction that destroys it (`erasures`). The conversations begin a new generation.
    2  All other rings are wrapped under a new wrapping key, and the old one is destroyed (`rotation`). After that a
    copy
       of the destroyed rings cannot be opened, unless it includes the table `keys` and the KEK.
    3  A gateway or the command records the erasure in the ledger (`gateway.erased`).

Running gateways need no notification: the store rejects their writes to an old generation, and returns no values of it.
Conversations that begin during an erasure are not part of it.

    eraser = Eraser(store, keys, index, now=..., forget=...)
    await eraser.erase(scope, by="dpo")
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
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
"""Seconds until an erased conversation's generation is forgotten; the maximum of `ttl_s`."""

_AT_ONCE = 100  # conversations in one transaction, a few milliseconds; gateways write in between
_MAX_ATTEMPTS = 8  # an attempt fails if a gateway or a rotation changes the same conversation concurrently
_TOUCH_EVERY_S = 60.0


@dataclass(frozen=True)
class Scope:
    """What to erase, as digests; contains no name and no value."""

    kind: Literal["conversation", "principal", "subject", "tenant"]
    digest: bytes
    """Keyed digest of the operator's argument, for the record."""
    conversations: tuple[bytes, ...] = ()
    """Erased in this order, in batches."""
    tenant: bytes = b""
    subjects: frozenset[bytes] = frozenset()


class Eraser:
    """Erases in one vault.

    Args:
        forget: called with each conversation that lost values.
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
        """Return the scope of a conversation and its hand-offs.

        Args:
            key: 64 hex digits.
        """
        conversation = Conversation("", key, True)
        places = (conversation, conversation.related_location("hand-offs"))
        return Scope("conversation", bytes.fromhex(key), tuple(bytes.fromhex(each.key) for each in places))

    def principal(self, conversations: Iterable[Conversation], salts: Conversation) -> Scope:
        """Return the scope of a client or person: its conversations with their hand-offs, and last its salts.

        An interrupted erasure can be repeated, because its conversations are found with the salts.
        """
        places = [each for key in conversations for each in (key, key.related_location("hand-offs"))]
        last = bytes.fromhex(salts.key)
        return Scope("principal", last, (*(bytes.fromhex(each.key) for each in places), last))

    def tenant(self, name: str) -> Scope:
        """Return the scope of everything of a tenant."""
        tenant = self._index.tenant(name)
        return Scope("tenant", tenant, tenant=tenant)

    def subject(self, tenant: str, values: Sequence[str]) -> Scope:
        """Return the scope of a person's values, in any spelling, in every conversation of a tenant."""
        digest = self._index.tenant(tenant)
        subjects = frozenset(self._index.subjects(digest, values))
        return Scope("subject", self._index.scope(digest, subjects), tenant=digest, subjects=subjects)

    async def conversations(self, scope: Scope) -> AsyncIterator[list[bytes]]:
        """Yield batches of the conversations that may lose values."""
        if scope.conversations:
            for start in range(0, len(scope.conversations), _AT_ONCE):
                yield list(scope.conversations[start : start + _AT_ONCE])
            return
        after = b""
        while found := await self._store.erasures.conversations(
            scope.tenant, scope.subjects, after=after, limit=_AT_ONCE
        ):
            yield found
            after = found[-1]

    async def erase(self, scope: Scope, *, by: str, progress: Callable[[int], None] = lambda _: None) -> Erasure:
        """Erase, and return what was destroyed. The process that claims the erasure records it.

        Args:
            by: the account that requested it.
            progress: called after each batch with the number of conversations processed.

        Raises:
            VaultFailed: the database or a hardware token failed; completed batches stay destroyed and are recorded.
        """
        erasures, erasure_id = self._store.erasures, os.urandom(16).hex()
        await erasures.begin(Erasure(erasure_id, self._now(), by, scope.kind, scope.digest.hex()))
        destroyed = 0
        async with self._keep_alive(erasure_id):
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
        for _ in range(_MAX_ATTEMPTS):
            rows = await self._store.read(conversations)
            try:
                redactions = [each for row in rows if (each := await self._redacted(row, scope)) is not None]
                if not redactions:
                    return
                key = self._keys.current
                conflicts = await self._store.erasures.redact(redactions, wrapping_key=key, erasure_id=erasure_id)
            except (WrappingKeyRetired, WrappingKeyGone):
                await self._keys.refresh()
            else:
                conversations = sorted(conflicts)
        raise VaultFailed(
            f"a conversation could not be changed in {_MAX_ATTEMPTS} attempts, because other processes changed it",
            where=self._store.where,
            hint="start the erasure again",
        )

    async def _redacted(self, row: Row, scope: Scope) -> Redaction | None:
        """Return the piece without these subjects; None if it contains none of them."""
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
    async def _keep_alive(self, erasure_id: str) -> AsyncIterator[None]:
        """Update the erasure's time stamp regularly, so that it does not count as abandoned."""

        async def touch() -> None:
            while True:
                await asyncio.sleep(_TOUCH_EVERY_S)
                with contextlib.suppress(VaultFailed):  # if the failure lasts, the erasure itself raises it
                    await self._store.erasures.touch(erasure_id, now=self._now())

        touching = asyncio.create_task(touch(), name="erasure")
        try:
            yield
        finally:
            touching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await touching
