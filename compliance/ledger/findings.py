"""What `verify` says of a ledger: findings, and as plainly what it cannot tell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class FindingKind(StrEnum):
    """What is wrong. Each is a reason to call the ledger damaged."""

    MISSING_LOG = "missing-log"
    BAD_CHECKPOINT = "bad-checkpoint"
    BAD_SIGNATURE = "bad-signature"
    BAD_KEY = "bad-key"
    ALTERED = "altered"
    MISSING_ENTRIES = "missing-entries"
    CUT_TAIL = "cut-tail"
    ROLLED_BACK = "rolled-back"
    FORKED = "forked"
    BAD_INDEX = "bad-index"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, and where."""

    kind: FindingKind
    message: str
    """Both sides: expected ..., got ...."""
    first_index: int | None = None
    """The first entry it concerns; None when no entry can be named."""
    last_index: int | None = None
    """The last entry of a missing range."""

    def as_json(self) -> dict[str, Any]:
        """Plain values; absent places are left out."""
        places = {"first_index": self.first_index, "last_index": self.last_index}
        return {"kind": self.kind.value, "message": self.message} | {k: v for k, v in places.items() if v is not None}


@dataclass(frozen=True)
class LedgerVerification:
    """The result of reading a whole ledger."""

    origin: str
    """From the checkpoint; empty when that could not be read."""
    entries: int
    """Whole records read."""
    signed_size: int
    """Entries under the log's own newest checkpoint; 0 when its signature does not hold."""
    root: str
    """Root hash over the signed entries as they were read, 64 hex digits."""
    witnessed_size: int | None
    """Entries under the newest checkpoint that was kept outside, and that the log still extends; None when none was
    given."""
    key_is_independent: bool
    """True when the public key was given, not taken from beside the log."""
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    """Worth knowing, and no damage."""

    @property
    def is_whole(self) -> bool:
        """True when nothing is wrong."""
        return not self.findings

    @property
    def unsigned_tail(self) -> int:
        """Entries behind the newest checkpoint."""
        return max(0, self.entries - self.signed_size)

    @property
    def unwitnessed_tail(self) -> int:
        """Entries that nobody outside has seen a checkpoint of."""
        return max(0, self.entries - (self.witnessed_size or 0))

    def limits(self) -> tuple[str, ...]:
        """What this result does not prove, in words for an auditor."""
        limits = ["records that were never written cannot be found missing"]
        if not self.key_is_independent:
            limits.append(
                "the public key was taken from beside the log: this shows that the log is whole, not who signed it; "
                "give the key you kept with --key"
            )
        if self.witnessed_size is None:
            limits.append(
                "no checkpoint kept elsewhere was given: an older copy of this log, or another log signed with the "
                "same key, would verify as well; give the one you kept with --checkpoint"
            )
        elif self.unwitnessed_tail:
            limits.append(
                f"the last {self.unwitnessed_tail} entries are behind the last checkpoint kept elsewhere: whoever "
                "holds the log's key could still replace them"
            )
        return tuple(limits)

    def as_json(self) -> dict[str, Any]:
        """The document of `sovctl audit verify --json`."""
        return {
            "is_whole": self.is_whole,
            "origin": self.origin,
            "entries": self.entries,
            "signed_size": self.signed_size,
            "root": self.root,
            "witnessed_size": self.witnessed_size,
            "unsigned_tail": self.unsigned_tail,
            "unwitnessed_tail": self.unwitnessed_tail,
            "key_is_independent": self.key_is_independent,
            "findings": [finding.as_json() for finding in self.findings],
            "notes": list(self.notes),
            "limits": list(self.limits()),
        }
