"""Rows of the vault's tables, and the changes that a store applies to them."""

from __future__ import annotations

from typing import NamedTuple

from ..encryption.sealing import Piece, Place


class Row(NamedTuple):
    """A piece in its place."""

    conversation: bytes
    seq: int
    tenant: bytes
    key_version: int
    """Of the key that the conversation's tokens are made with."""
    generation: int
    """How often the conversation was erased."""
    expires_at: int
    """Seconds since 1970. Read from the head, meaningless in other rows."""
    wrapping_key: int
    """0 after an erasure."""
    keys: bytes | None
    subjects: bytes | None
    sealed: bytes | None

    @property
    def place(self) -> Place:
        """What the row's keys and values are bound to."""
        return Place(self.tenant, self.conversation, self.seq)

    @property
    def piece(self) -> Piece | None:
        """What is sealed in it; None after an erasure."""
        if self.keys is None:
            return None
        return Piece(self.keys, self.subjects or b"", self.sealed or b"")


class ConversationUpdate(NamedTuple):
    """A conversation that goes on."""

    conversation: bytes
    generation: int
    expires_at: int | None
    """The new one; None when the old one will do for a while, which it never does for one that gets something."""
    row: Row | None
    """What it gets; None when it has everything already."""


class ConversationRestart(NamedTuple):
    """A conversation that begins again in the place of one that expired or was erased."""

    row: Row
    seen_generation: int
    seen_expires_at: int


class RingRewrap(NamedTuple):
    """A piece whose ring is wrapped anew."""

    row: Row
    """As it shall be; of its head's fields, nothing is changed."""
    seen_keys: bytes
    """As they must still be."""


class KeyRow(NamedTuple):
    """A key of the vault itself."""

    id: int
    purpose: str
    """`wrap` or `index`."""
    kek: str
    """Which KEK wraps it."""
    wrapped: bytes
    created_at: int
    is_retired: bool
    """Wraps nothing new any more."""


class Counts(NamedTuple):
    """How much there is."""

    conversations: dict[int, int]
    """Token key version -> conversations that go on."""
    pieces: dict[int, int]
    """Wrapping key -> pieces under it."""
