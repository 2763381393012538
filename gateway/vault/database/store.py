"""Interface between the vault and its database. Implemented by `sqlite_store` and `postgresql_store`, with shared
tests.

A store writes and reads rows; it receives no values and no unwrapped keys. Its guarantees:

- rows are durable when `write` returns, for every process that uses the same database;
- one call is one transaction, complete or without effect;
- a row is written only under the current wrapping key, and changed only if it is in the state that the writer read.
  Otherwise the writer reads again and repeats (`write` returns the conflicts, `rewrite` the number of changed rows).

    pieces      conversation, seq -> keys, subjects, sealed; the piece with seq 0 is its conversation's head and also
                contains tenant, key version, generation and expiry. A head without keys remains after an erasure.
    keys        wrapping keys and the key of the blind index, wrapped under a KEK
    erasures    what was destroyed, when and by which account; see `erasures`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .erasures import Erasures
from .rows import ConversationRestart, ConversationUpdate, Counts, KeyRow, RingRewrap, Row


@dataclass(slots=True)
class Batch:
    """Changes of several requests in one transaction. Each conversation occurs at most once."""

    wrapping_key: int
    now: int
    begin: list[Row] = field(default_factory=list)
    grow: list[ConversationUpdate] = field(default_factory=list)
    revive: list[ConversationRestart] = field(default_factory=list)


class Store(Protocol):
    """Every method raises `VaultFailed` if the database fails."""

    where: str
    """Name of the database in error messages."""

    @property
    def erasures(self) -> Erasures:
        """Erasures of this database."""

    async def write(self, batch: Batch) -> set[bytes]:
        """Write a batch. Return the conversations that were in another state and were not changed.

        Raises:
            WrappingKeyRetired: nothing of the batch was written.
        """

    async def read(self, conversations: Sequence[bytes]) -> list[Row]:
        """Return every piece of these conversations, expired or not, by conversation and seq."""

    async def purge(self, now: int, *, tombstone_s: int, limit: int) -> int:
        """Remove up to `limit` expired conversations, and return their number. Heads of erased conversations are kept
        for `tombstone_s`."""

    async def forget_copies(self) -> None:
        """Remove the copies of overwritten and deleted rowsif the database permits it.

        Raises:
            VaultFailed: another process is reading the old pages; try again.
        """

    async def keys(self) -> list[KeyRow]:
        """Return all keys, by id."""

    async def add_keys(self, keys: Sequence[KeyRow], *, after: int | None) -> bool:
        """Add keys and retire the older wrapping keys. Return False if `after` is not the current wrapping key.

        Args:
            keys: their ids are ignored.
            after: None for a vault without wrapping keys.
        """

    async def wrap_again(self, key: KeyRow, seen_wrapped: bytes) -> bool:
        """Store a key in its new wrapping. Return False if its wrapping was not `seen_wrapped`."""

    async def remove_keys(self) -> list[int]:
        """Destroy the retired wrapping keys without pieces, and return their ids."""

    async def stale(self, wrapping_key: int, *, limit: int) -> list[Row]:
        """Return pieces under an older wrapping key than this, the oldest ones first."""

    async def count_stale(self, wrapping_key: int) -> int:
        """Return the number of pieces under an older wrapping key."""

    async def rewrite(self, changes: Sequence[RingRewrap], *, wrapping_key: int) -> int:
        """Change the pieces that still have their `seen_keys`, and return their number.

        Raises:
            WrappingKeyRetired: nothing was changed.
        """

    async def counts(self, now: int) -> Counts:
        """Count all conversations and pieces. Slow."""

    async def check(self, now: int) -> None:
        """Write a row, to detect a full or read-only disk."""

    async def close(self) -> None:
        """Close the database. Idempotent."""
