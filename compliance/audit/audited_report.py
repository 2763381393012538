"""A report under verification, as the steps of its verification share it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.support.errors import SovctlError

from ..ledger.checkpoint import Checkpoint, parse_checkpoint
from ..verify_key import BadSignature, VerifyKey
from .result import AuditResult
from .signatures import Signers


class Wrong(Exception):
    """A finding that ends a step."""


@dataclass
class AuditedReport:
    """A report under verification."""

    folder: Path
    data: bytes
    document: dict[str, Any]
    name: str
    place: str
    """Beginning of the file names in findings, such as `reports/NAME/`."""
    key: VerifyKey
    result: AuditResult
    signers: Signers

    @property
    def area(self) -> str:
        """Area of the findings."""
        return f"report {self.name}"

    def find(self, message: str, file: str = "report.json", *, first_index: int | None = None) -> None:
        """Add a finding."""
        self.result.find(self.area, message, file=f"{self.place}{file}", first_index=first_index)

    def open_checkpoint(self, text: str) -> Checkpoint:
        """Return a checkpoint of the ledger of this report, after verifying its signature."""
        try:
            checkpoint = parse_checkpoint(text)
            if checkpoint.origin != self.document["ledger"]["origin"]:
                raise Wrong(f"expected a checkpoint of {self.document['ledger']['origin']}, got {checkpoint.origin}")
            checkpoint.verify(self.key)
        except (BadSignature, SovctlError) as error:
            raise Wrong(f"checkpoint: {error.message}") from None
        return checkpoint
