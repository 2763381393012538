"""Prunes a site: entries of its ledger, and the files that only pruned entries protect.

    planned = plan_pruning(reader, folders, days=365, now=now)
    prune_site(ledger, folders, planned, archive=Path("/mnt/archive"))

A run of checks, a report or a journal is pruned as a whole, so `sovctl audit verify` has no finding afterwards. Raw
output and populations stay while a kept record has them. Files are removed after the record `pruned` is durable, and
before the content of the entries, so an interrupted call is completed by the next one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ..evidence.layout import POPULATIONS, RAW, RUNS
from ..ledger.format import Entry, read_pruned
from ..ledger.pruning import older_than, prune
from ..ledger.reader import LedgerReader
from ..ledger.store import Ledger

_SHARED = (RAW, POPULATIONS)
"""Files that several runs can use; they do not hold back the pruning of a run."""
_FURTHER = {"documents": "documents", "foreign-evidence": "foreign"}
"""Folder below the state folder by type of the ledger entry."""


@dataclass(frozen=True)
class SiteFolders:
    """Folders of the files that the ledger protects."""

    evidence: Path
    reports: Path
    journal: Path


@dataclass(frozen=True)
class PlannedPruning:
    """Entries and files to prune."""

    now_s: int
    """Time of the pruning, POSIX seconds."""
    retention_days: int
    size: int
    """Number of leading entries without content afterwards."""
    pruned_before: int
    runs: tuple[str, ...]
    raw: tuple[str, ...]
    populations: tuple[str, ...]
    reports: tuple[str, ...]
    journals: tuple[str, ...]
    further: tuple[str, ...] = ()
    """Folders of documents and of foreign results, relative to the state folder."""

    @property
    def files(self) -> int:
        """Number of folders and files to remove."""
        parts = (self.runs, self.raw, self.populations, self.reports, self.journals, self.further)
        return sum(map(len, parts))

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


@dataclass
class _Uses:
    """First and last entry of each item that entries protect."""

    found: dict[tuple[str, str], list[int]]

    def add(self, kind: str, name: Any, index: int) -> None:
        if isinstance(name, str) and name and Path(name).name == name:
            self.found.setdefault((kind, name), [index, index])[1] = index

    def ends_before(self, size: int, kind: str) -> Iterator[str]:
        return (name for (its, name), (_, last) in self.found.items() if its == kind and last < size)


def plan_pruning(reader: LedgerReader, folders: SiteFolders, *, days: int, now: datetime) -> PlannedPruning:
    """Return the entries that are older than the retention, up to the first item that later entries use."""
    before, uses = read_pruned(reader.directory).size, _Uses({})
    for entry in reader.entries():
        _note(entry, uses)
    limit = older_than(reader, now - timedelta(days=days))
    size = min(limit, max(0, reader.checkpoint.size - 1))
    whole = [span for (kind, _), span in uses.found.items() if kind not in _SHARED]
    while splits := [first for first, last in whole if first < size <= last]:
        size = min(splits)
    size = max(size, before)
    names = {kind: sorted(uses.ends_before(size, kind)) for kind in ("run", *_SHARED, "report", "journal")}
    return PlannedPruning(
        now_s=int(now.timestamp()),
        retention_days=days,
        size=size,
        pruned_before=before,
        runs=tuple(each for each in names["run"] if (folders.evidence / RUNS / each).is_dir()),
        raw=tuple(each for each in names[RAW] if (folders.evidence / RAW / each).is_file()),
        populations=tuple(each for each in names[POPULATIONS] if (folders.evidence / POPULATIONS / each).is_file()),
        reports=tuple(each for each in names["report"] if (folders.reports / each).is_dir()),
        journals=tuple(each for each in names["journal"] if (folders.journal / f"{each}.jsonl").is_file()),
        further=tuple(
            f"{kind}/{each}"
            for kind in _FURTHER.values()
            for each in sorted(uses.ends_before(size, kind))
            if (folders.evidence.parent / kind / each).is_dir()
        ),
    )


def prune_site(ledger: Ledger, folders: SiteFolders, planned: PlannedPruning, *, archive: Path | None = None) -> None:
    """Prune. The ledger is open for writing, and no other command changes the site.

    Args:
        archive: files are moved there instead of deleted.
    """
    if planned.size <= planned.pruned_before:
        return

    def remove_files() -> None:
        for path in _paths(folders, planned):
            _remove(path, archive, folders.evidence.parent)

    reason = {"retention_days": planned.retention_days, "files": planned.files, "is_archived": archive is not None}
    prune(ledger, planned.size, reason=reason, now_s=planned.now_s, before_content=remove_files)


def _note(entry: Entry, uses: _Uses) -> None:
    record, index = entry.record, entry.leaf_index
    match record.get("type"):
        case "evidence":
            uses.add("run", record.get("run_id"), index)
            uses.add(RAW, record.get("raw_sha256"), index)
            uses.add(POPULATIONS, record.get("population_sha256"), index)
        case "report":
            uses.add("report", record.get("folder"), index)
        case "documents" | "foreign-evidence" as kind:
            uses.add(_FURTHER[kind], record.get("folder"), index)
        case "report-signed":
            uses.add("report", record.get("folder"), index)
    if "journal_sha256" in record:
        uses.add("journal", record.get("run"), index)


def _paths(folders: SiteFolders, planned: PlannedPruning) -> Iterator[Path]:
    yield from (folders.evidence / RUNS / each for each in planned.runs)
    yield from (folders.evidence / RAW / each for each in planned.raw)
    yield from (folders.evidence / POPULATIONS / each for each in planned.populations)
    yield from (folders.reports / each for each in planned.reports)
    yield from (folders.journal / f"{each}.jsonl" for each in planned.journals)
    yield from (folders.evidence.parent / each for each in planned.further)


def _remove(path: Path, archive: Path | None, root: Path) -> None:
    if archive is not None:
        target = archive / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, target, dirs_exist_ok=True)
        else:
            shutil.copy2(path, target)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
