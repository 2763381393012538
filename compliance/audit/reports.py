"""Compares the reports of a site with its ledger: each logged report exists under its own name, and omits no record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.support.plain_json import sha256_hex

from ..ledger.reader import LedgerReader
from .files import MAX_DOCUMENT_BYTES, content, parse_object
from .result import AuditResult

AREA = "reports"


@dataclass
class _Found:
    """A report folder."""

    name: str
    run_id: str
    size: int
    """Number of ledger entries that the report covers."""
    indices: set[int]
    """Ledger indices of its records."""
    sha256: str
    logged: int | None = None
    """Ledger index of its entry; None if absent."""
    omitted: int = 0


def report_folders(reports: Path) -> list[Path]:
    """Return the folders of finished reports, sorted by name. Drafts have hidden names."""
    return sorted(path for path in reports.glob("[!.]*") if path.is_dir())


def compare_reports(reports: Path, reader: LedgerReader, result: AuditResult) -> None:
    """Check that all logged reports exist under their own names, and have all records of their runs."""
    found = [each for folder in report_folders(reports) if (each := _read(folder))]
    drafts = {
        sha256_hex(content(path / "report.json", limit_bytes=MAX_DOCUMENT_BYTES) or b"") for path in reports.glob(".*")
    }
    for entry in reader.entries():
        if b'"type":"report"' in entry.data and (record := entry.record).get("type") == "report":
            _match(entry.leaf_index, record, found, drafts, result)
        elif b'"type":"evidence"' in entry.data and (record := entry.record).get("type") == "evidence":
            for each in found:
                is_due = record.get("run_id") == each.run_id and entry.leaf_index < each.size
                each.omitted += is_due and entry.leaf_index not in each.indices
    for each in found:
        if each.omitted:
            result.find(
                f"report {each.name}",
                f"{each.omitted} records of its run are missing",
                file=f"{reports.name}/{each.name}",
                first_index=each.logged,
            )
        if each.logged is None:
            result.find(f"report {each.name}", "no ledger entry of this report", file=f"{reports.name}/{each.name}")
    for path in sorted(reports.glob("*")):
        if path.is_dir() and path.name.startswith("."):
            result.notes.append(
                f"{AREA}: {path.name} is an interrupted report; `sovctl report` completes or removes it"
            )
        elif not path.is_dir():
            result.find(AREA, f"{path.name}: unknown file", file=f"{reports.name}/{path.name}")


def _match(index: int, record: dict[str, Any], found: list[_Found], drafts: set[str], result: AuditResult) -> None:
    """Find the folder of a logged report. `folder` is its name; entries of earlier versions lack it."""
    digest, name = record.get("report_sha256"), record.get("folder")
    same = [each for each in found if each.sha256 == digest]
    own = [each for each in same if name in (None, each.name)]
    for each in own:
        each.logged = index
    if own or (not same and digest in drafts):
        return
    place = f"reports/{name or record.get('run_id')}"
    if same:
        result.find(
            AREA,
            f"the report of ledger entry {index} is named {same[0].name}, not {name}",
            file=place,
            first_index=index,
        )
    else:
        result.find(AREA, f"{place}: the report of ledger entry {index} is missing", file=place, first_index=index)


def _read(folder: Path) -> _Found | None:
    data = content(folder / "report.json", limit_bytes=MAX_DOCUMENT_BYTES)
    try:
        document = parse_object(data or b"")
        indices = {int(item["leaf_index"]) for item in document["evidence"]}
        return _Found(
            folder.name, str(document["run"]["id"]), int(document["ledger"]["size"]), indices, sha256_hex(data or b"")
        )
    except (ValueError, KeyError, TypeError):
        return None  # already a finding of `report_folder`
