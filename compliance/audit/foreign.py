"""Compares imported files of other tools with the ledger: each import exists with its original and its results."""

from __future__ import annotations

from pathlib import Path

from ..evidence.layout import is_sha256
from ..ledger.reader import LedgerReader
from .files import file_names, file_sha256
from .result import AuditResult

AREA = "foreign"
_FILES = {"original": "original_sha256", "results.json": "results_sha256"}


def compare_foreign(directory: Path, reader: LedgerReader, result: AuditResult) -> None:
    """Check every logged import, and every further file.

    Args:
        directory: the folder of imports; its files are reported as `foreign/...`.
    """
    expected: dict[str, tuple[int, object]] = {}
    for entry in reader.entries():
        if b'"type":"foreign-evidence"' in entry.data and (record := entry.record).get("type") == "foreign-evidence":
            folder = record.get("folder")
            if not is_sha256(folder):
                message = f"ledger entry {entry.leaf_index}: expected a SHA-256 as the name of an import"
                result.find(AREA, message, file="ledger/entries", first_index=entry.leaf_index)
                continue
            expected |= {f"{folder}/{name}": (entry.leaf_index, record.get(key)) for name, key in _FILES.items()}
    for name, (index, digest) in sorted(expected.items()):
        found = file_sha256(directory / name)
        if found != digest:
            got = "another" if found else "no file"
            message = f"{name}: expected the content that was logged, got {got}"
            result.find(AREA, message, file=f"{AREA}/{name}", first_index=index)
    for name in sorted(set(file_names(directory)) - expected.keys()):
        if name.startswith("."):
            result.notes.append(f"{AREA}: {name} is of an interrupted import; the next import completes or removes it")
        else:
            result.find(AREA, f"{name}: no ledger entry of this file", file=f"{AREA}/{name}")
    if expected:
        result.facts.append(f"{AREA}: {len(expected) // len(_FILES)} imported files of other tools, as in the ledger")
