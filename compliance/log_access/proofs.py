"""Writes proofs of entries as files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic

from ..ledger.format import Entry
from ..ledger.reader import LedgerReader
from ..tlog.proof_file import SUFFIX, proof_text


@dataclass(frozen=True)
class Written:
    """A proof in a file."""

    path: Path
    index: int
    """Index of the entry."""
    type: str
    """Type of the record."""
    size: int
    """Size of the file, bytes."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"path": str(self.path)}


def write(ledger: Path, entries: Sequence[Entry], folder: Path) -> list[Written]:
    """Write one proof per entry to `folder`, named by its index, all with the same checkpoint.

    Raises:
        InputError: an entry is newer than the newest checkpoint; no file is written.
    """
    reader = LedgerReader(ledger)
    proofs = [(entry, proof_text(reader, entry)) for entry in entries]
    written = []
    for entry, text in proofs:
        path = folder / f"entry-{entry.leaf_index}{SUFFIX}"
        write_atomic(path, text)
        written.append(Written(path, entry.leaf_index, str(entry.record.get("type", "")), len(text.encode())))
    return written
