"""States of bundles in the site's ledger, and the clock floor.

The ledger is the memory of imports: it survives the loss of the store, and a witness detects a truncated one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.support.errors import InputError

_NEVER = datetime.min.replace(tzinfo=UTC)


class State(StrEnum):
    """State of a bundle at a site, in order."""

    OPENED = "opened"  # signatures, audience, sequence and clock are accepted
    RECEIVED = "received"  # all chunks are in quarantine
    VERIFIED = "verified"  # all contents have their size and SHA-256
    SCANNED = "scanned"
    APPROVED = "approved"
    PUBLISHED = "published"
    REJECTED = "rejected"

    @property
    def is_final(self) -> bool:
        """Whether no state follows."""
        return self in (State.PUBLISHED, State.REJECTED)


ORDER = tuple(State)
RECORD_TYPES: Mapping[State, str] = {
    State.OPENED: "bundle-opened",
    State.RECEIVED: "bundle-received",
    State.VERIFIED: "bundle-verified",
    State.SCANNED: "bundle-scanned",
    State.APPROVED: "bundle-approved",
    State.PUBLISHED: "bundle-published",
    State.REJECTED: "bundle-rejected",
}
"""Type of the ledger record by state."""
_STATES = {kind: state for state, kind in RECORD_TYPES.items()}


@dataclass
class Bundle:
    """A bundle of which the ledger has records.

    Args:
        records: newest record of each state.
    """

    id: str
    records: dict[State, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """The last state that was reached."""
        return max(self.records, key=ORDER.index)

    @property
    def opened(self) -> Mapping[str, Any]:
        """Record with sequence, digests and importer."""
        return self.records[State.OPENED]

    @property
    def sequence(self) -> int:
        """Number of the bundle."""
        return int(self.opened["sequence"])


@dataclass
class History:
    """Records of imports, and the newest time of any record.

    Args:
        bundles: by id, in the order of the ledger.
    """

    bundles: dict[str, Bundle] = field(default_factory=dict)
    newest_time: datetime = _NEVER

    @property
    def newest(self) -> Bundle | None:
        """The bundle with the highest sequence; None before the first import."""
        return max(self.bundles.values(), key=lambda each: each.sequence, default=None)

    def bundle(self, name: str) -> Bundle:
        """Return a bundle by id, or by sequence.

        Raises:
            InputError: unknown.
        """
        found = [each for each in self.bundles.values() if name in (each.id, str(each.sequence))]
        if len(found) != 1:
            raise InputError(f"unknown bundle {name[:40]!r}", where="ID", hint="list them: sovctl import status")
        return found[0]


def read(ledger: Path) -> History:
    """Read the records of a ledger; empty without one."""
    history = History()
    if not (ledger / "checkpoint").exists():
        return history
    for entry in LedgerReader(ledger).entries():
        record = entry.record
        if (time := _time(record.get("time"))) is not None:
            history.newest_time = max(history.newest_time, time)
        state, name = _STATES.get(str(record.get("type"))), record.get("bundle")
        if state and isinstance(name, str) and (state is State.OPENED or name in history.bundles):
            history.bundles.setdefault(name, Bundle(name)).records[state] = record
    return history


def _time(value: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo else None
