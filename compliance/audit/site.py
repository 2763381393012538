"""Verifies the ledger, evidence, reports and journals of a site, and their consistency.

    result = audit(Path(".sovctl"))          # or the folder of a report or a ledger
    result.findings, result.facts, result.limits

Findings decide the exit code. Limits state what the result does not prove.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from ..evidence.runs import read_runs
from ..ledger import format as layout
from ..ledger.checkpoint import Checkpoint
from ..ledger.errors import LedgerDamaged
from ..ledger.format import Entry
from ..ledger.reader import LedgerReader
from ..report.verify_report import NoReport
from ..report.verify_report import verify as verify_report
from .inputs import Key, read_checkpoint
from .journals import compare_journals
from .ledger import AuditResult, add_ledger


def audit(target: Path, *, key: Key | None = None, kept: Sequence[Checkpoint] = ()) -> AuditResult:
    """Verify the report, ledger or site at `target`.

    Args:
        target: the folder of a report (or its report.json), of a ledger, of a site's state, or of a site.yaml.
        key: name and public key of the ledger, kept outside the site.
        kept: checkpoints kept outside the site.

    Raises:
        InputError: `target` contains none of these.
    """
    folder = target.parent if target.is_file() else target
    result = AuditResult()
    for place in (folder, folder / ".sovctl"):
        if (place / "report.json").is_file():
            _audit_report(place, key, result)
            return result
        if (place / layout.ENTRIES).exists() or (place / layout.CHECKPOINT).exists():
            add_ledger(place, key, kept, (), result)
            return result
        if any((place / name).is_dir() for name in ("ledger", "evidence", "reports")):
            _audit_state(place, key, kept, result)
            return result
    raise InputError(
        "no report, ledger or site state found",
        where=str(target),
        hint="give the folder of a report, or .sovctl, or use --ledger",
    )


def _audit_report(folder: Path, key: Key | None, result: AuditResult) -> None:
    try:
        found = verify_report(folder, key[1].vkey(key[0]) if key else None)
    except NoReport as error:
        result.findings.append(str(error))
        return
    result.findings += [f"report {folder.name}: {text}" for text in found["findings"]]
    result.facts += [f"report {folder.name}: {text}" for text in found["facts"]]
    result.limits += found["limits"]


def _audit_state(state: Path, key: Key | None, kept: Sequence[Checkpoint], result: AuditResult) -> None:
    folders = sorted(path for path in (state / "reports").glob("[!.]*") if path.is_dir())
    add_ledger(state / "ledger", key, kept, _checkpoints_of_reports(folders, result), result)
    for folder in folders:
        _audit_report(folder, key, result)
    try:
        reader = LedgerReader(state / "ledger")
    except InputError:
        return  # already a finding
    try:
        _compare_evidence(state / "evidence", reader, result)
        _compare_reports(folders, reader, result)
        compare_journals(state / "journal", reader, result)
    except LedgerDamaged as error:  # the damage itself is already a finding
        result.findings.append(f"evidence, reports and journals: {error.message}; not compared with the ledger")


def _compare_evidence(directory: Path, reader: LedgerReader, result: AuditResult) -> None:
    for run_id, run in read_runs(directory, reader).items():
        result.findings += [f"evidence: {problem}" for problem in run.problems]
        result.facts.append(f"evidence: run {run_id}, {len(run.records)} records with raw output as in the ledger")
        if run.unacknowledged:
            count = run.unacknowledged
            result.notes.append(f"evidence: {count} records of run {run_id} have no ledger entry and are ignored")


def _checkpoints_of_reports(folders: Iterable[Path], result: AuditResult) -> list[Checkpoint]:
    """Return two checkpoints per report: the one of its evidence, and the one that covers the report."""
    found = []
    for folder in folders:
        for name in ("checkpoint", "report.tlog-proof"):
            try:
                found.append(read_checkpoint(folder / name))
            except InputError as error:
                result.findings.append(f"report {folder.name}: {name}: {error.message}")
    return found


def _compare_reports(folders: Iterable[Path], reader: LedgerReader, result: AuditResult) -> None:
    """Check that a report has all records of its run, and that every logged report exists."""
    shown: dict[Path, tuple[str, int, set[int]]] = {}
    present = set()
    for folder in folders:
        try:
            data = (folder / "report.json").read_bytes()
            document = json.loads(data)
            indices = {item["leaf_index"] for item in document["evidence"]}
            shown[folder] = (document["run"]["id"], document["ledger"]["size"], indices)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # already a finding of `_audit_report`
        present.add(sha256_hex(data))
    omitted = dict.fromkeys(shown, 0)
    for entry in reader.entries():
        kind, record = _kind(entry)
        if kind == "report" and record.get("report_sha256") not in present:
            result.notes.append(f"reports: the report of ledger entry {entry.leaf_index} is missing")
        if kind == "evidence":
            for folder, (run_id, size, indices) in shown.items():
                is_due = record.get("run_id") == run_id and entry.leaf_index < size
                omitted[folder] += is_due and entry.leaf_index not in indices
    for folder, count in omitted.items():
        if count:
            result.findings.append(f"report {folder.name}: {count} records of its run are missing")


def _kind(entry: Entry) -> tuple[str, dict[str, Any]]:
    """Return type and content of a report or evidence entry. Other entries are not parsed."""
    if b'"type":"report"' not in entry.data and b'"type":"evidence"' not in entry.data:
        return "", {}
    return str(entry.record.get("type", "")), entry.record
