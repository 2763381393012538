"""Verifies one ledger. Defines the result of an audit."""

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
    """Result of an audit, as sentences."""

    findings: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    ledger: LedgerVerification | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the document of `sovctl audit verify --json`."""
        return {
            "findings": self.findings,
            "facts": self.facts,
            "notes": self.notes,
            "limits": list(dict.fromkeys(self.limits)),
            "ledger": self.ledger.as_json() if self.ledger else None,
        }


def audit_ledger(directory: Path, *, key: Key | None = None, kept: Sequence[Checkpoint] = ()) -> AuditResult:
    """Verify one ledger. A missing ledger is a finding."""
    result = AuditResult()
    add_ledger(directory, key, kept, (), result)
    return result


def add_ledger(
    directory: Path, key: Key | None, kept: Iterable[Checkpoint], on_site: Iterable[Checkpoint], result: AuditResult
) -> None:
    """Verify a ledger, and add its findings to `result`."""
    found = verify_ledger(directory, key=key, kept=kept, on_site=on_site)
    result.ledger = found
    for finding in found.findings:
        result.findings.append(f"ledger: {finding.kind}: {finding.message}")
    if found.is_whole:
        outside = "none" if found.witnessed_size is None else f"{found.witnessed_size}"
        result.facts.append(
            f"ledger: {found.entries} entries of {found.origin}, {found.signed_size} signed, "
            f"{outside} in a checkpoint kept outside"
        )
    result.notes += [f"ledger: {note}" for note in found.notes]
    result.limits += found.limits()
