"""The place of a tampering, and whether the findings of a verifier name it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any


@dataclass(frozen=True)
class Expected:
    """Place of a tampering. A finding names it by one of the files, or by an entry or range that has the index."""

    files: tuple[str, ...] = ()
    """Relative to the state folder."""
    index: int | None = None
    """Index of the first bad ledger entry."""
    checkpoint: Path | None = None
    """A forged checkpoint for the verifiers, instead of the kept one."""

    def is_named(self, findings: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether a finding names the place."""
        return any(finding.get("file") in self.files or self._covers(finding) for finding in findings)

    def _covers(self, finding: Mapping[str, Any]) -> bool:
        first = finding.get("first_index")
        if self.index is None or first is None:
            return False
        return bool(first <= self.index <= finding.get("last_index", first))


def flip(path: Path, random: Random) -> int:
    """Flip one bit of a file, and return the offset of its byte."""
    data = bytearray(path.read_bytes())
    at = random.randrange(len(data))
    data[at] ^= 1 << random.randrange(8)
    path.write_bytes(data)
    return at


def swap(first: Path, second: Path) -> None:
    """Exchange two files or folders."""
    aside = first.with_name(f"{first.name}-aside")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
