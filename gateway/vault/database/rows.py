"""Rows of the vault's tables, and the changes that a store applies to them."""

from __future__ import annotations

from typing import NamedTuple

from ..encryption.sealing import Piece, Place


class Row(NamedTuple):
    """A piece with its location and its head's fields."""

    conversation: bytes
    seq: int
    tenant: bytes
    key_version: int
    """Version of the token key that the conversation uses."""
    generation: int
    """Number of times the conversation was erased."""
    expires_at: int
    """Seconds since 1970. Valid in head rows only."""
    wrapping_key: int
    """0 after an erasure."""
    keys: bytes | None
    subjects: bytes | None
    sealed: bytes | None

    @property
    def place(self) -> Place:
        """Location that the row's keys and values are bound to."""
        return Place(self.tenant, self.conversation, self.seq)

    @property
    def piece(self) -> Piece | None:
        """The encrypted values; None after an erasure."""
        if self.keys is None:
            return None
        return Piece(self.keys, self.subjects or b"", self.sealed or b"")


class ConversationUpdate(NamedTuple):
    """New values or a new expiry of an existing conversation."""

    conversation: bytes
    generation: int
    expires_at: int | None
    """The new expiry; None keeps the old one, which is permitted only without `row`."""
    row: Row | None
    """The new piece; None if only the expiry changes."""


class ConversationRestart(NamedTuple):
    """Replacement of a conversation that expired or was erased."""

    row: Row
    seen_generation: int
    seen_expires_at: int


class RingRewrap(NamedTuple):
    """A piece whose ring is wrapped under another key."""

    row: Row
    """The new row; the head's fields are not changed."""
    seen_keys: bytes
    """The keys that the row must still have."""


class KeyRow(NamedTuple):
    """A key of the vault."""

    id: int
    purpose: str
    """`wrap` or `index`."""
    kek: str
    """Id of the KEK that wraps it."""
    wrapped: bytes
    created_at: int
    is_retired: bool
    """It wraps no new rings."""


class Counts(NamedTuple):
    """Number of conversations and pieces."""

    conversations: dict[int, int]
    """Token key version -> unexpired conversations."""
    pieces: dict[int, int]
    """Wrapping key -> pieces under it."""
