"""What this process knows to be in the vault, so that a turn that says nothing new writes nothing new.

No value and no key is kept here: of each token only a hash that means nothing outside of this process. Knowledge may
be out of date; the store notices and says so, see `store`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .database.rows import Row

_MOST_TOKENS = 262_144  # over all conversations; about 40 MB


@dataclass(slots=True)
class Entry:
    """One conversation in the vault."""

    generation: int
    expires_at: int
    is_living: bool
    """False for what an erasure left."""
    pieces: int
    """How many it has; the next one's seq."""
    seen: dict[str, int] = field(default_factory=dict)
    """Token -> hash of its value."""

    def goes_on(self, now: int) -> bool:
        """True when it is neither erased nor expired."""
        return self.is_living and self.expires_at > now


def entry_of(rows: Iterable[Row], values: Mapping[str, str]) -> Entry | None:
    """What the rows of one conversation say; None when there are none.

    Args:
        values: what is sealed in them.
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


class Known:
    """The entries used last. Forgets the oldest ones."""

    def __init__(self) -> None:
        self._entries: dict[bytes, tuple[Entry, int]] = {}  # with its weight when it was put
        self._weight = 0

    def get(self, conversation: bytes) -> Entry | None:
        """The entry, if it is known."""
        found = self._entries.get(conversation)
        return found[0] if found else None

    def put(self, conversation: bytes, entry: Entry) -> None:
        """Remember an entry; to be called again whenever it grew."""
        self.drop(conversation)
        weight = len(entry.seen) + 1
        self._entries[conversation] = entry, weight
        self._weight += weight
        while self._weight > _MOST_TOKENS and len(self._entries) > 1:
            self.drop(next(iter(self._entries)))

    def drop(self, conversation: bytes) -> None:
        """Forget an entry."""
        found = self._entries.pop(conversation, None)
        if found is not None:
            self._weight -= found[1]
