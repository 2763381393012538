"""Erasures as the database keeps them: what was destroyed is written down in the transaction that destroys it.

So whatever cuts an erasure off, the ledger can still be told what became unreadable. An erasure is recorded by whoever
claims it: a gateway that serves, or the command when none does. `sqlite_erasures` and `postgresql_erasures` keep them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from .rows import Row

CLAIM_TIMEOUT_S = 30
"""How long whoever claimed an erasure has for the ledger; then another one may."""

ABANDONED_AFTER_S = 300
"""An erasure of which nothing was heard for so long was cut off, and is recorded as far as it came."""

MAX_SUBJECTS = 200
"""Values in one erasure."""


class Erasure(NamedTuple):
    """One erasure, as far as it has come."""

    id: str
    """32 hex digits."""
    begun_at: int
    by: str
    """Account that asked for it."""
    scope: str
    """`conversation`, `subject` or `tenant`."""
    scope_digest: str
    """Which one: a keyed digest, in hex."""
    conversations: int = 0
    """That lost something; what hand-offs of a conversation hold counts as one more."""
    rings: int = 0
    """Wrapped rings of data keys that were destroyed, or replaced by one without the keys in question."""
    data_keys: int = 0
    """One a value."""
    destroyed_sha256: str = ""
    """Of those rings as they were wrapped, see `chained`."""
    wrapping_keys: int = 0
    """That were destroyed at the end, so that copies of the rings can't be opened either."""
    is_complete: bool = False


class Redaction(NamedTuple):
    """A piece that loses values."""

    row: Row
    """As it shall be."""
    seen_keys: bytes
    """As they must still be."""
    data_keys: int
    """How many it loses."""


class Erasures(Protocol):
    """Everything raises `VaultFailed` when the database can't."""

    async def begin(self, erasure: Erasure) -> None:
        """Write down that it begins."""

    async def touch(self, erasure_id: str, *, now: int) -> None:
        """It still goes on."""

    async def finish(self, erasure_id: str, *, wrapping_keys: int) -> Erasure:
        """It is complete; what it came to."""

    async def conversations(
        self, tenant: bytes, subjects: Collection[bytes], *, after: bytes, limit: int
    ) -> list[bytes]:
        """Conversations of a tenant that hold values, in order.

        Args:
            subjects: only those that may have something of one of these; all when empty.
            after: only those behind this one.
        """

    async def destroy_conversations(self, conversations: Sequence[bytes], *, until: int, erasure_id: str | None) -> int:
        """Destroy all keys and values of these conversations; how many rings those were.

        Args:
            until: when the head, which remembers the generation, may go as well.
            erasure_id: where it is counted.
        """

    async def redact(self, redactions: Sequence[Redaction], *, wrapping_key: int, erasure_id: str) -> set[bytes]:
        """Change pieces, all of each conversation that lose anything; the conversations that were not as expected, of
        which nothing was changed. The others begin a new generation.

        Raises:
            WrappingKeyRetired: nothing was changed.
        """

    async def claim(self, *, now: int) -> Erasure | None:
        """One that is over and not yet in the ledger; nobody else gets it for `CLAIM_TIMEOUT_S` seconds."""

    async def mark_recorded(self, erasure_id: str) -> None:
        """It is in the ledger."""

    async def is_recorded(self, erasure_id: str) -> bool:
        """True when it is in the ledger."""


def chained(previous_sha256: str, rings: Iterable[bytes]) -> str:
    """SHA-256 of the digest so far and of the SHA-256 of each ring, in hex.

    Whoever has a copy of the rings from before, in the order of conversation and seq, can say which ones they were.
    """
    digest = hashlib.sha256(bytes.fromhex(previous_sha256))
    for ring in rings:
        digest.update(hashlib.sha256(ring).digest())
    return digest.hexdigest()
