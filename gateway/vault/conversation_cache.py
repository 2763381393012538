"""Cache of the conversations and tokens that this process has written or read, so that known tokens are not written
again.

It contains no value and no key, only a hash of each value that is specific to this process. Entries may be out of date;
the store detects that, see `store`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .database.rows import Row

_MAX_TOKENS = 262_144  # over all conversations; about 40 MB


@dataclass(slots=True)
class Entry:
    """One conversation in the vault."""

    generation: int
    expires_at: int
    is_living: bool
    """False after an erasure."""
    pieces: int
    """Number of its pieces; the seq of the next one."""
    seen: dict[str, int] = field(default_factory=dict)
    """Token -> hash of its value."""

    def is_active(self, now: int) -> bool:
        """Return whether the conversation is neither erased nor expired."""
        return self.is_living and self.expires_at > now


def entry_of(rows: Iterable[Row], values: Mapping[str, str]) -> Entry | None:
    """Return the entry for the rows of one conversation; None without rows.

    Args:
        values: the decrypted values of the rows.
    """
    entry: Entry | None = None
    for row in rows:
        if row.seq == 0:
            entry = Entry(row.generation, row.expires_at, row.keys is not None, 1)
        elif entry is not None:
            entry.pieces = row.seq + 1
    if entry is not None:
        entry.seen = {token: hash(value) for token, value in values.items()}
    return entry


class ConversationCache:
    """The least recently used entries are dropped first."""

    def __init__(self) -> None:
        self._entries: dict[bytes, tuple[Entry, int]] = {}  # with its weight at the time of `put`
        self._weight = 0

    def get(self, conversation: bytes) -> Entry | None:
        """Return the entry; None if it is not in the cache."""
        found = self._entries.get(conversation)
        return found[0] if found else None

    def put(self, conversation: bytes, entry: Entry) -> None:
        """Add an entry; call it again after the entry grew."""
        self.drop(conversation)
        weight = len(entry.seen) + 1
        self._entries[conversation] = entry, weight
        self._weight += weight
        while self._weight > _MAX_TOKENS and len(self._entries) > 1:
            self.drop(next(iter(self._entries)))

    def drop(self, conversation: bytes) -> None:
        """Remove an entry."""
        found = self._entries.pop(conversation, None)
        if found is not None:
            self._weight -= found[1]
