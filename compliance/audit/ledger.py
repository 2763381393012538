"""Verifies one ledger, and holds the result of an audit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..ledger.checkpoint import Checkpoint
from ..ledger.findings import LedgerVerification
from ..ledger.verify import verify_ledger
from .inputs import Key


@dataclass
class AuditResult:
    """What was found, in sentences."""

    findings: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    ledger: LedgerVerification | None = None

    def as_json(self) -> dict[str, Any]:
        """The document of `sovctl audit verify --json`."""
        return {
            "findings": self.findings,
            "facts": self.facts,
            "notes": self.notes,
            "limits": list(dict.fromkeys(self.limits)),
            "ledger": self.ledger.as_json() if self.ledger else None,
        }


def audit_ledger(directory: Path, *, key: Key | None = None, kept: Sequence[Checkpoint] = ()) -> AuditResult:
    """Check one ledger, which may have been deleted."""
    result = AuditResult()
    add_ledger(directory, key, kept, (), result)
    return result


def add_ledger(
    directory: Path, key: Key | None, kept: Iterable[Checkpoint], beside: Iterable[Checkpoint], result: AuditResult
) -> None:
    found = verify_ledger(directory, key=key, kept=kept, beside=beside)
    result.ledger = found
    for finding in found.findings:
        result.findings.append(f"ledger: {finding.kind}: {finding.message}")
    if found.is_whole:
        outside = "none" if found.witnessed_size is None else f"{found.witnessed_size}"
        result.facts.append(
            f"ledger: {found.entries} entries of {found.origin}, {found.signed_size} under its signature, "
            f"{outside} seen from outside"
        )
    result.notes += [f"ledger: {note}" for note in found.notes]
    result.limits += found.limits()
