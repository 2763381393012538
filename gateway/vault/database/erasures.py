"""Records of erasures in the database, written in the transaction that destroys the keys.

If an erasure is interrupted, the ledger still receives a record of what became unreadable. The process that claims an
erasure records it: a running gateway, or the command if none runs. See `sqlite_erasures` and `postgresql_erasures`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from .rows import Row

CLAIM_TIMEOUT_S = 30
"""Seconds in which the process that claimed an erasure must record it; after that another one may claim it."""

ABANDONED_AFTER_S = 300
"""Seconds without an update after which an erasure counts as interrupted, and is recorded with its progress."""

PROGRESS = "count(*), coalesce(sum(conversations), 0), count(CASE WHEN is_complete THEN 1 END)"
"""Columns of `Progress`, in SQL of both databases."""

MAX_SUBJECTS = 200
"""Maximum number of values in one erasure."""


class Erasure(NamedTuple):
    """State of one erasure."""

    id: str
    """32 hex digits."""
    begun_at: int
    by: str
    """Account that requested it."""
    scope: str
    """`conversation`, `principal`, `subject` or `tenant`."""
    scope_digest: str
    """Keyed digest of the conversation, the subjects or the tenant, in hex."""
    conversations: int = 0
    """Number of conversations that lost values; the hand-offs of a conversation count as one more."""
    rings: int = 0
    """Number of wrapped rings of data keys that were destroyed, or replaced without the keys in question."""
    data_keys: int = 0
    """Number of destroyed data keys, one per value."""
    destroyed_sha256: str = ""
    """Digest of those wrapped rings, see `chained`."""
    wrapping_keys: int = 0
    """Number of wrapping keys destroyed at the end, so that copies of the rings cannot be opened."""
    is_complete: bool = False


class Progress(NamedTuple):
    """Progress of all erasures of a vault together."""

    erasures: int
    conversations: int
    complete: int


class Redaction(NamedTuple):
    """A piece with some of its values removed."""

    row: Row
    """The new row."""
    seen_keys: bytes
    """The keys that the row must still have."""
    data_keys: int
    """Number of removed data keys."""


class Erasures(Protocol):
    """Every method raises `VaultFailed` if the database fails."""

    async def begin(self, erasure: Erasure) -> None:
        """Record the beginning of an erasure."""

    async def touch(self, erasure_id: str, *, now: int) -> None:
        """Update the time stamp of an erasure in progress."""

    async def finish(self, erasure_id: str, *, wrapping_keys: int) -> Erasure:
        """Mark an erasure as complete, and return its totals."""

    async def conversations(
        self, tenant: bytes, subjects: Collection[bytes], *, after: bytes, limit: int
    ) -> list[bytes]:
        """Return the conversations of a tenant that contain values, in order.

        Args:
            subjects: only conversations that may contain one of these; empty: all.
            after: only conversations greater than this one.
        """

    async def destroy_conversations(self, conversations: Sequence[bytes], *, until: int, erasure_id: str | None) -> int:
        """Destroy all keys and values of these conversations, and return the number of rings.

        Args:
            until: expiry of the head row, which stores the generation.
            erasure_id: the erasure that counts them.
        """

    async def redact(self, redactions: Sequence[Redaction], *, wrapping_key: int, erasure_id: str) -> set[bytes]:
        """Change pieces; all pieces of a conversation that lose values must be in the same call. Return the
        conversations that differ from `seen_keys` and were not changed. The others begin a new generation.

        Raises:
            WrappingKeyRetired: nothing was changed.
        """

    async def claim(self, *, now: int) -> Erasure | None:
        """Return an unrecorded erasure that is complete or abandoned; other processes cannot claim it for
        `CLAIM_TIMEOUT_S` seconds."""

    async def mark_recorded(self, erasure_id: str) -> None:
        """Mark the erasure as recorded in the ledger."""

    async def is_recorded(self, erasure_id: str) -> bool:
        """Return whether the ledger contains the erasure."""

    async def progress(self) -> Progress:
        """Return the progress of all erasures together; every beginning, destruction and end changes it."""


def chained(previous_sha256: str, rings: Iterable[bytes]) -> str:
    """Return the SHA-256 of the previous digest and of the SHA-256 of each ring, in hex.

    With a copy of the rings, in the order of conversation and seq, an auditor can verify which rings were destroyed.
    """
    digest = hashlib.sha256(bytes.fromhex(previous_sha256))
    for ring in rings:
        digest.update(hashlib.sha256(ring).digest())
    return digest.hexdigest()
