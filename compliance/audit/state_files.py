"""Compares files of a state folder with the newest ledger record of each: plans, facts, waivers, and signatures.

- A file that differs from its newest record, or is missing, is a finding.
- A file as in an earlier record is a note: the command was killed before it wrote the file, or a person restored it.
- A file as in a record that the writer of the ledger has not appended yet is a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from ..evidence.layout import is_sha256
from ..ledger import pending_files
from ..ledger.format import Entry
from ..ledger.reader import LedgerReader
from ..ledger.state_files import FIELD, TYPES
from .files import file_sha256
from .result import AuditResult
from .signatures import FOLDER as SIGNATURES

AREA = "state"
_UNLOGGED = {
    "plans": "plans/plan.json",
    "facts": "facts/*.json",
    "waivers": "waivers/*.json",
    "signatures": f"reports/[!.]*/{SIGNATURES}/*.json",
}
"""Pattern of the files that have records, by name of the group."""


@dataclass
class _Recorded:
    """Records of one file."""

    kind: str
    index: int
    """Index of the newest record."""
    sha256: str
    earlier: dict[str, int] = field(default_factory=dict)
    """Index by digest of earlier records."""


def compare_state_files(state: Path, reader: LedgerReader, result: AuditResult) -> None:
    """Check every file that a record names. Other files are counted in a note.

    Args:
        state: the state folder; names of files are relative to it.
    """
    recorded = _recorded(reader.entries(), result)
    left = _pending(state / "ledger")
    for name, each in sorted(recorded.items()):
        found = file_sha256(state / name)
        if found == each.sha256:
            continue
        if found and found in left.get(name, ()):
            result.notes.append(f"{AREA}: {name}: the ledger's writer has not appended its newest record yet")
        elif found in each.earlier:
            result.notes.append(
                f"{AREA}: {name} is as in entry {each.earlier[found]}, before entry {each.index}: a command was killed "
                "before it wrote the file, or an earlier file was restored"
            )
        else:
            problem = "differs from" if found else "is missing, but it is in"
            message = f"{name} {problem} ledger entry {each.index} ({each.kind})"
            result.find(AREA, message, file=name, first_index=each.index)
    if recorded:
        result.facts.append(f"{AREA}: {len(recorded)} plan, facts, waiver and signature files were compared")
    for group, pattern in _UNLOGGED.items():
        if unlogged := {str(path.relative_to(state)) for path in state.glob(pattern)} - recorded.keys():
            result.notes.append(
                f"{AREA}: {len(unlogged)} files of {group} have no ledger entry: copied to this site, or older than "
                "the first entry"
            )


def _recorded(entries: Iterable[Entry], result: AuditResult) -> dict[str, _Recorded]:
    """Return the records by file. The facts of a removed node are deleted with its other records."""
    found: dict[str, _Recorded] = {}
    mark = f'"{FIELD}"'.encode()
    for entry in entries:
        if b'"type":"node-removed"' in entry.data and (record := entry.record).get("type") == "node-removed":
            found.pop(f"facts/{record.get('node')}.json", None)
        elif mark in entry.data and (record := entry.record).get("type") in TYPES:
            for name, digest in _files(record):
                if not _is_inside(name) or not is_sha256(digest):
                    message = f"ledger entry {entry.leaf_index}: expected files of the state folder with their SHA-256"
                    result.find(AREA, message, file="ledger/entries", first_index=entry.leaf_index)
                    continue
                earlier = {}
                if before := found.get(name):
                    earlier = before.earlier
                    earlier[before.sha256] = before.index
                found[name] = _Recorded(str(record["type"]), entry.leaf_index, digest, earlier)
    return found


def _pending(ledger: Path) -> dict[str, set[str]]:
    """Return the digests of records that are not in the ledger yet, by file."""
    found: dict[str, set[str]] = {}
    for path in pending_files.paths(ledger):
        data = pending_files.read_record(path)
        for name, digest in _files(Entry(0, data, 0).record) if data else ():
            found.setdefault(name, set()).add(digest)
    return found


def _files(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    files = record.get(FIELD)
    if isinstance(files, dict):
        yield from ((name, str(digest)) for name, digest in files.items())


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and str(path) == name
