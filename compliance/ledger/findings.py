"""Result of the verification of a ledger: findings, notes, and limits of what was proven."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class FindingKind(StrEnum):
    """Kinds of damage to a ledger."""

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
    """One damage and its location."""

    kind: FindingKind
    message: str
    """Expected and actual state."""
    first_index: int | None = None
    """Index of the first affected entry; None if unknown."""
    last_index: int | None = None
    """Index of the last entry of a range; None if it is not a range. An altered entry is in the range."""
    file: str = ""
    """File in the folder of the ledger; empty if the finding is about entries; `.` for the folder."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values; unknown indices are omitted."""
        places = {"first_index": self.first_index, "last_index": self.last_index, "file": self.file or None}
        return {"kind": self.kind.value, "message": self.message} | {k: v for k, v in places.items() if v is not None}


@dataclass(frozen=True)
class LedgerVerification:
    """Result of the verification of a whole ledger."""

    origin: str
    """Name of the log, from its checkpoint; empty if unreadable."""
    entries: int
    """Number of complete records."""
    signed_size: int
    """Number of entries in the newest checkpoint of the log; 0 if its signature is invalid."""
    root: str
    """Root hash computed over the signed entries, 64 hex digits."""
    witnessed_size: int | None
    """Number of entries in the newest checkpoint kept outside the site that is consistent with the log; None if none
    was given."""
    key_is_independent: bool
    """Whether the caller supplied the public key; False: it was read from the folder of the log."""
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    """Observations that are not damage."""
    keys: tuple[str, ...] = ()
    """Public keys of the log, oldest first: the given one, and those of valid rotations; empty if unreadable."""

    @property
    def is_whole(self) -> bool:
        """Whether the list of findings is empty."""
        return not self.findings

    @property
    def unsigned_tail(self) -> int:
        """Number of entries after the newest checkpoint."""
        return max(0, self.entries - self.signed_size)

    @property
    def unwitnessed_tail(self) -> int:
        """Number of entries after the newest checkpoint kept outside the site."""
        return max(0, self.entries - (self.witnessed_size or 0))

    def limits(self) -> tuple[str, ...]:
        """Return what the result does not prove, as sentences for an auditor."""
        limits = ["records that were never written cannot be detected as missing"]
        if not self.key_is_independent:
            limits.append(
                "the public key was read from the folder of the log: the result proves integrity, not who signed; "
                "supply the key kept outside the site with --key"
            )
        if self.witnessed_size is None:
            limits.append(
                "without a checkpoint kept outside the site, an older copy of this log, or another log with the same "
                "key, also verifies; supply one with --checkpoint"
            )
        elif self.unwitnessed_tail:
            limits.append(
                f"the last {self.unwitnessed_tail} entries are newer than the newest checkpoint kept outside the site: "
                "they can still be replaced with the key of the log"
            )
        return tuple(limits)

    def as_json(self) -> dict[str, Any]:
        """Return the document of `sovctl audit verify --json`."""
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
            "keys": list(self.keys),
            "findings": [finding.as_json() for finding in self.findings],
            "notes": list(self.notes),
            "limits": list(self.limits()),
        }
