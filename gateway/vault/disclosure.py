"""Finds the values of a person in all conversations of a tenant, for a copy of the person's data (GDPR, Art. 15)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .database.rows import Row
from .database.store import Store
from .encryption.sealing import numbers_about, unseal
from .erasing import Eraser, Scope
from .wrapping import VaultKeys


@dataclass(frozen=True)
class Held:
    """Values of one conversation that contain an identifier of the person."""

    conversation: str
    """Key of the conversation, or of its hand-offs, 64 hex digits."""
    values: dict[str, str]
    """Value by token."""


class Disclosure:
    """Reads values of one vault.

    Args:
        eraser: finds the conversations of a scope.
    """

    def __init__(self, store: Store, keys: VaultKeys, eraser: Eraser) -> None:
        self._store = store
        self._keys = keys
        self._eraser = eraser

    async def values(self, scope: Scope) -> list[Held]:
        """Return the values of a scope of `Eraser.subject`, by conversation; expired ones until they are removed.

        Raises:
            VaultFailed: a conversation is unreadable or was altered.
        """
        found: dict[bytes, dict[str, str]] = {}
        async for batch in self._eraser.conversations(scope):
            for row in await self._store.read(batch):
                if values := await self._values(row, scope.subjects):
                    found.setdefault(row.conversation, {}).update(values)
        return [Held(conversation.hex(), values) for conversation, values in found.items()]

    async def _values(self, row: Row, subjects: Collection[bytes]) -> dict[str, str]:
        if row.piece is None or not (numbers := numbers_about(row.piece.subjects, subjects)):
            return {}
        values = unseal(row.piece, place=row.place, wrapping=await self._keys.cipher(row.wrapping_key))
        return {token: value for number, (token, value) in enumerate(values.items()) if number in numbers}
