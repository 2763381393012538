"""Compares the journals of `sovctl apply` with the ledger, which contains number and SHA-256 of every journal line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sovctl.support.plain_json import sha256_hex

from ..journal_chain import CLOSING, STEP, complete_lines, first_break
from ..ledger.format import read_pruned
from ..ledger.reader import LedgerReader
from .files import MAX_DOCUMENT_BYTES, content
from .result import AuditResult

AREA = "journal"
_FIELDS = (("run", "journal_lines", "journal_sha256"), ("previous_run", "previous_lines", "previous_sha256"))


@dataclass
class _Bound:
    """Lines of one run in the ledger."""

    lines: dict[int, dict[str, int]] = field(default_factory=dict)
    """Ledger index by digest and line number."""
    is_own: bool = False
    """An entry of the run itself is in the ledger, not only its last line in the entry of the next run."""
    has_every_line: bool = False
    """The run was written by a version that appends every line; earlier ones appended the lines of some events."""
    last_closed: int = 0
    """Number of the last line of the run, if it ended, or if a later run recorded its end; else 0."""

    def first_index(self, line: int) -> int:
        """Return the first ledger entry that covers `line`."""
        covering = [min(digests.values()) for number, digests in self.lines.items() if number >= line]
        return min(covering) if covering else max(min(digests.values()) for digests in self.lines.values())


def compare_journals(folder: Path, reader: LedgerReader, result: AuditResult) -> None:
    """Check that every journal line that the ledger covers is unchanged, and that no journal is missing or added."""
    bound, is_pruned = _bound_lines(reader), read_pruned(reader.directory).size > 0
    for run, lines in bound.items():
        name = f"{run}.jsonl"
        data = content(folder / name, limit_bytes=MAX_DOCUMENT_BYTES)
        if data is None and is_pruned and not lines.is_own:
            continue  # the journal was pruned together with the entries of its run
        if data is None:
            message = f"the journal of run {run} is missing or unreadable"
            result.find(AREA, message, file=f"journal/{name}", first_index=lines.first_index(1))
            continue
        found = complete_lines(data)
        problem = _problem(found, lines)
        if problem:
            line, message = problem
            result.find(AREA, f"run {run}: {message}", file=f"journal/{name}", first_index=lines.first_index(line))
            continue
        covered = max(lines.lines)
        result.facts.append(f"{AREA}: run {run}, {covered} lines as in the ledger")
        rest = len(found) - covered
        # A killed process can leave one line without an entry, until the next run records it.
        if rest and (lines.last_closed == covered or (rest > 1 and lines.has_every_line)):
            result.find(AREA, f"run {run}: lines from {covered + 1} on have no ledger entry", file=f"journal/{name}")
        elif rest:
            result.notes.append(f"{AREA}: {rest} last lines of run {run} have no ledger entry")
    for path in sorted(folder.glob("*")):
        if path.stem in bound and path.suffix == ".jsonl":
            continue
        lines_found = complete_lines(content(path, limit_bytes=MAX_DOCUMENT_BYTES) or b"")
        if path.suffix == ".jsonl" and len(lines_found) <= 1:
            result.notes.append(f"{AREA}: run {path.stem} has no ledger entry with a digest of its journal")
        else:
            result.find(AREA, f"{path.name} has no ledger entry", file=f"journal/{path.name}")


def _bound_lines(reader: LedgerReader) -> dict[str, _Bound]:
    """Return the lines in the ledger by run."""
    found: dict[str, _Bound] = {}
    for entry in reader.entries():
        if b'"journal_sha256"' not in entry.data:
            continue
        record = entry.record
        for run_field, lines_field, sha256_field in _FIELDS:
            run, line, sha256 = (record.get(name) for name in (run_field, lines_field, sha256_field))
            if isinstance(run, str) and isinstance(line, int) and isinstance(sha256, str) and line > 0:
                bound = found.setdefault(Path(run).name, _Bound())
                bound.is_own |= run_field == "run"
                bound.lines.setdefault(line, {}).setdefault(sha256, entry.leaf_index)
                if record.get("type") in CLOSING or run_field == "previous_run":
                    bound.last_closed = max(bound.last_closed, line)
        if record.get("type") == STEP:
            found[Path(str(record.get("run"))).name].has_every_line = True
    return found


def _problem(found: list[bytes], bound: _Bound) -> tuple[int, str] | None:
    """Return number and description of the first bad line."""
    good = 0
    for line, digests in sorted(bound.lines.items()):
        if line > len(found):
            return len(found) + 1, f"expected at least {max(bound.lines)} lines, got {len(found)}"
        if set(digests) != {sha256_hex(found[line - 1])}:
            which = f"line {line}" if good == line - 1 else f"a line from {good + 1} to {line}"
            return good + 1, f"{which} differs from the ledger"
        good = line
    broken = first_break(found[:good])
    if broken is not None:
        return broken, f"line {broken} does not continue the hash chain; it or the line before was changed"
    return None
