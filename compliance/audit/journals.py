"""Compares the journals of `sovctl apply` with the ledger, which contains number and SHA-256 of a journal line."""

from __future__ import annotations

from pathlib import Path

from sovctl.support.canonical_json import sha256_hex

from ..journal_chain import complete_lines, first_break
from ..ledger.reader import LedgerReader
from .ledger import AuditResult

_FIELDS = (("run", "journal_lines", "journal_sha256"), ("previous_run", "previous_lines", "previous_sha256"))


def compare_journals(folder: Path, reader: LedgerReader, result: AuditResult) -> None:
    """Check that every journal line that the ledger covers is unchanged, and that no journal is missing."""
    bound = _bound_lines(reader)
    for run, lines in bound.items():
        path = folder / f"{run}.jsonl"
        try:
            found = complete_lines(path.read_bytes())
        except OSError:
            result.findings.append(f"journal: the journal of run {run} is missing or unreadable")
            continue
        problem = _problem(found, lines)
        if problem:
            result.findings.append(f"journal: run {run}: {problem}")
            continue
        covered = max(lines)
        result.facts.append(f"journal: run {run}, {covered} lines as in the ledger")
        if rest := len(found) - covered:
            result.notes.append(f"journal: {rest} last lines of run {run} have no ledger entry")
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem not in bound:
            result.notes.append(f"journal: run {path.stem} has no ledger entry with a digest of its journal")


def _bound_lines(reader: LedgerReader) -> dict[str, dict[int, set[str]]]:
    """Return the digests by line number and run."""
    found: dict[str, dict[int, set[str]]] = {}
    for entry in reader.entries():
        if b'"journal_sha256"' not in entry.data:
            continue
        for run_field, lines_field, sha256_field in _FIELDS:
            run, line, sha256 = (entry.record.get(name) for name in (run_field, lines_field, sha256_field))
            if isinstance(run, str) and isinstance(line, int) and isinstance(sha256, str) and line > 0:
                found.setdefault(Path(run).name, {}).setdefault(line, set()).add(sha256)
    return found


def _problem(found: list[bytes], bound: dict[int, set[str]]) -> str | None:
    covered = max(bound)
    if len(found) < covered:
        return f"expected at least {covered} lines, got {len(found)}"
    broken = first_break(found[:covered])
    if broken is not None:
        return f"line {broken} does not continue the hash chain; it or the line before was changed"
    for line, digests in sorted(bound.items()):
        if digests != {sha256_hex(found[line - 1])}:
            return f"line {line} differs from the ledger; it or a line before was changed"
    return None
