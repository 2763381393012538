"""Result of an audit: findings with their place, facts, notes, limits, and the verdict with its exit code."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from sovctl.support.errors import ExitCode

from ..ledger.findings import LedgerVerification


class AuditVerdict(StrEnum):
    """Verdicts of an audit."""

    OK = "ok"
    FAILED = "failed"
    UNPROVEN = "unproven"
    """No finding, but without a checkpoint kept outside the site a replaced or older copy cannot be excluded."""


EXIT_CODES = {
    AuditVerdict.OK: ExitCode.OK,
    AuditVerdict.FAILED: ExitCode.FAILURE,
    AuditVerdict.UNPROVEN: ExitCode.UNPROVEN,
}


@dataclass(frozen=True)
class AuditFinding:
    """One inconsistency and its place."""

    area: str
    """`ledger`, `evidence`, `journal`, `reports`, `files`, `clock`, `witness`, or `report NAME`."""
    message: str
    file: str = ""
    """File or folder, relative to the target; empty if the finding is about entries."""
    first_index: int | None = None
    """Index of the first affected ledger entry; None if unknown or not about entries."""
    last_index: int | None = None
    """Index of the last entry of a missing range; None if it is not a range."""

    def __str__(self) -> str:
        return f"{self.area}: {self.message}"

    def as_json(self) -> dict[str, Any]:
        """Return plain values; unknown places are omitted."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}


@dataclass
class AuditResult:
    """Result of an audit."""

    findings: list[AuditFinding] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    is_anchored: bool = False
    """Whether a checkpoint kept outside the site, or cosigned by a kept witness key, is consistent with the target."""
    ledger: LedgerVerification | None = None

    @property
    def verdict(self) -> AuditVerdict:
        """FAILED with a finding; UNPROVEN without an anchor; else OK."""
        if self.findings:
            return AuditVerdict.FAILED
        return AuditVerdict.OK if self.is_anchored else AuditVerdict.UNPROVEN

    @property
    def exit_code(self) -> ExitCode:
        """Exit code of `sovctl audit verify` and of sovctl-verify.pyz."""
        return EXIT_CODES[self.verdict]

    def find(
        self, area: str, message: str, *, file: str = "", first_index: int | None = None, last_index: int | None = None
    ) -> None:
        """Add a finding."""
        self.findings.append(AuditFinding(area, message, file, first_index, last_index))

    def as_json(self) -> dict[str, Any]:
        """Return the document of `sovctl audit verify --json` and of `sovctl-verify.pyz --json`."""
        return {
            "verdict": self.verdict.value,
            "findings": [finding.as_json() for finding in self.findings],
            "facts": self.facts,
            "notes": self.notes,
            "limits": list(dict.fromkeys(self.limits)),
            "ledger": self.ledger.as_json() if self.ledger else None,
        }

    def lines(self) -> list[tuple[str, str]]:
        """Return label and text of each line, with escaped control characters; the last line is the verdict."""
        rows = [("FINDING", str(finding)) for finding in self.findings]
        for label, texts in (("checked", self.facts), ("note", self.notes), ("limit", self.limits)):
            rows += [(label, text) for text in dict.fromkeys(texts)]
        return [(label, shown(text)) for label, text in [*rows, ("", self.sentence())]]

    def sentence(self) -> str:
        """Return the verdict as one line."""
        count = len(self.findings)
        return {
            AuditVerdict.OK: "OK: no findings",
            AuditVerdict.FAILED: f"NOT OK: {count} finding{'s' if count > 1 else ''}",
            AuditVerdict.UNPROVEN: "UNPROVEN: no findings, but no checkpoint kept outside the site: "
            "an older or re-signed copy cannot be excluded",
        }[self.verdict]


def shown(text: str) -> str:
    """Return `text` with escaped control characters, because an altered file could contain terminal sequences."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
