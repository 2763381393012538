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
from typing import Protocol

from .erasures import Erasures
from .rows import ConversationRestart, ConversationUpdate, Counts, KeyRow, RingRewrap, Row


@dataclass(slots=True)
class Batch:
    """What several requests want kept, in one transaction. No conversation is in it twice."""

    wrapping_key: int
    now: int
    begin: list[Row] = field(default_factory=list)
    grow: list[ConversationUpdate] = field(default_factory=list)
    revive: list[ConversationRestart] = field(default_factory=list)


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

    async def rewrite(self, changes: Sequence[RingRewrap], *, wrapping_key: int) -> int:
        """Change pieces that are still as they were seen; how many those were.

        Raises:
            WrappingKeyRetired: nothing was changed.
        """

    async def counts(self, now: int) -> Counts:
        """Count everything. Takes its time."""

    async def check(self, now: int) -> None:
        """Write something, so that a full or read-only disk is noticed."""

    async def close(self) -> None:
        """Let go of the database. Closing twice is harmless."""
