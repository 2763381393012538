"""What a vault asks of the database below it. Two answer: `sqlite_store` and `postgresql_store`; one set of tests.

A store knows rows and keeps them; it never sees a value or an unwrapped key. Its rules:

- what `write` returned from is durable, for every process that uses the same database;
- one call is one transaction, whole or not at all;
- a row is written only under the current wrapping key, and changed only if it is still as its writer saw it. Whoever
  was overtaken is told (`write` returns the misfits, `rewrite` says no), looks again and tries again.

    pieces      conversation, seq -> keys, subjects, sealed; the piece with seq 0 is its conversation's head and also
                holds tenant, key version, generation and expiry. A head without keys is what an erasure left behind.
    keys        wrapping keys and the key of the blind index, wrapped under a KEK
    erasures    what was destroyed, when and by whom; see `erasures`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .sealing import Piece, Place

if TYPE_CHECKING:
    from .erasures import Erasures


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


class Growth(NamedTuple):
    """A conversation that goes on."""

    conversation: bytes
    generation: int
    expires_at: int | None
    """The new one; None when the old one will do for a while, which it never does for one that gets something."""
    row: Row | None
    """What it gets; None when it has everything already."""


class Revival(NamedTuple):
    """A conversation that begins again in the place of one that expired or was erased."""

    row: Row
    seen_generation: int
    seen_expires_at: int


class Change(NamedTuple):
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


class Census(NamedTuple):
    """How much there is."""

    conversations: dict[int, int]
    """Token key version -> conversations that go on."""
    pieces: dict[int, int]
    """Wrapping key -> pieces under it."""


@dataclass(slots=True)
class Batch:
    """What several requests want kept, in one transaction. No conversation is in it twice."""

    wrapping_key: int
    now: int
    begin: list[Row] = field(default_factory=list)
    grow: list[Growth] = field(default_factory=list)
    revive: list[Revival] = field(default_factory=list)


class Store(Protocol):
    """Everything raises `VaultFailed` when the database can't."""

    where: str
    """The database, as an error names it."""

    @property
    def erasures(self) -> Erasures:
        """What is destroyed in it, and what was."""

    async def write(self, batch: Batch) -> set[bytes]:
        """Keep a batch; the conversations that were not as expected, of which nothing was kept.

        Raises:
            WrappingKeyRetired: nothing of the batch was kept.
        """

    async def read(self, conversations: Sequence[bytes]) -> list[Row]:
        """Every piece of these conversations, expired or not, by conversation and seq."""

    async def purge(self, now: int, *, tombstone_s: int, limit: int) -> int:
        """Remove up to `limit` expired conversations; how many. Of one that was erased before, its head stays."""

    async def forget_copies(self) -> None:
        """Make the database let go of what was overwritten or removed, as far as it can.

        Raises:
            VaultFailed: somebody still reads the old pages; try again.
        """

    async def keys(self) -> list[KeyRow]:
        """All keys, by id."""

    async def add_keys(self, keys: Sequence[KeyRow], *, after: int | None) -> bool:
        """Add keys and retire the older wrapping keys; False when `after` is no longer the current wrapping key.

        Args:
            keys: their ids are not used.
            after: None when there is none yet.
        """

    async def wrap_again(self, key: KeyRow, seen_wrapped: bytes) -> bool:
        """Keep a key as it is wrapped now; False when it was no longer as it was seen."""

    async def remove_keys(self) -> list[int]:
        """Destroy the retired wrapping keys that no piece needs any more; their ids."""

    async def stale(self, wrapping_key: int, *, limit: int) -> list[Row]:
        """Pieces that stand under an older wrapping key than this, the oldest ones first."""

    async def count_stale(self, wrapping_key: int) -> int:
        """How many there are."""

    async def rewrite(self, changes: Sequence[Change], *, wrapping_key: int) -> int:
        """Change pieces that are still as they were seen; how many those were.

        Raises:
            WrappingKeyRetired: nothing was changed.
        """

    async def census(self, now: int) -> Census:
        """Count everything. Takes its time."""

    async def check(self, now: int) -> None:
        """Write something, so that a full or read-only disk is noticed."""

    async def close(self) -> None:
        """Let go of the database. Closing twice is harmless."""
