"""Reads the evidence of a run back, and checks every file against the ledger.

    run = load_run(state / "evidence", run_id, LedgerReader(state / "ledger"))

Record and raw output count as evidence only if the ledger has a leaf with their digests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError, SovctlError

from ..ledger.format import Entry
from ..ledger.reader import LedgerReader
from .layout import GATE, RAW, RUNS, record_file_name
from .record import Evidence
from .store import StoredEvidence, checked_run_id, leaf_record


class EvidenceDamaged(SovctlError):
    """Evidence differs from its leaf in the ledger."""


@dataclass(frozen=True)
class EvidenceRun:
    """The evidence of one run of `sovctl verify`, or of one attempt of the checks between the waves of an apply."""

    run_id: str
    records: tuple[StoredEvidence, ...]
    """In ledger order."""
    problems: tuple[str, ...]
    """Missing or altered evidence, as sentences."""
    unacknowledged: int
    """Number of record files without a leaf, from a killed run. They are ignored."""


def list_runs(directory: Path) -> list[str]:
    """Return the ids of the runs of `sovctl verify`, oldest first."""
    return [run_id for run_id in _all_runs(directory) if not run_id.startswith(GATE)]


def load_run(directory: Path, run_id: str, reader: LedgerReader) -> EvidenceRun:
    """Return the evidence of one run. Every digest is compared with the ledger.

    Raises:
        InputError: unknown run.
        EvidenceDamaged: missing or altered evidence.
    """
    run = read_runs(directory, reader, only=checked_run_id(run_id)).get(run_id)
    if run is None:
        known = list_runs(directory)
        raise InputError(
            f"unknown run {run_id}; newest runs: {', '.join(known[-3:]) or '(none yet)'}",
            where=str(directory / RUNS),
            hint="run `sovctl verify` first" if not known else "",
        )
    if run.problems:
        more = f" (and {len(run.problems) - 1} more)" if len(run.problems) > 1 else ""
        raise EvidenceDamaged(
            run.problems[0] + more, where=str(directory), hint="list all findings with `sovctl audit verify`"
        )
    return run


def read_runs(directory: Path, reader: LedgerReader, *, only: str | None = None) -> dict[str, EvidenceRun]:
    """Return all runs, or `only` one, with their problems; those of `sovctl verify` first, each kind oldest first."""
    leaves: dict[str, list[Entry]] = {run_id: [] for run_id in _all_runs(directory) if only in (None, run_id)}
    for entry in reader.entries():
        if b'"type":"evidence"' in entry.data and entry.record.get("type") == "evidence":
            run_id = str(entry.record.get("run_id", ""))
            if only in (None, run_id):
                leaves.setdefault(run_id, []).append(entry)
    return {run_id: _read_run(directory, run_id, leaves[run_id]) for run_id in sorted(leaves)}


def read_raw(directory: Path, digest: str) -> bytes:
    """Return the raw output with the given SHA-256.

    Raises:
        EvidenceDamaged: absent or altered.
    """
    try:
        raw = (directory / RAW / digest).read_bytes()
    except OSError:
        raise EvidenceDamaged("raw output is missing", where=str(directory / RAW / digest)) from None
    if sha256_hex(raw) != digest:
        raise EvidenceDamaged(
            f"expected raw output with digest {digest[:16]}, got {sha256_hex(raw)[:16]}",
            where=str(directory / RAW / digest),
        )
    return raw


def _read_run(directory: Path, run_id: str, leaves: Sequence[Entry]) -> EvidenceRun:
    files = _record_files(directory / RUNS / run_id)
    records, problems, vouched = [], [], set()
    for entry in leaves:
        leaf = entry.record
        digest, where = str(leaf.get("sha256", "")), f"{leaf.get('check_id')} on {leaf.get('target')}, run {run_id}"
        vouched.add(digest)
        evidence = files.get(digest)
        if evidence is None:
            problems.append(f"{where}: the record with digest {digest[:16]} is missing (deleted, altered or renamed)")
            continue
        if leaf_record(evidence, digest, run_id) != leaf:
            problems.append(f"{where}: the ledger leaf differs from the record")
            continue
        try:
            read_raw(directory, evidence.raw_sha256)
        except EvidenceDamaged as error:
            problems.append(f"{where}: {error.message}")
            continue
        records.append(StoredEvidence(evidence, digest, run_id, entry.leaf_index))
    return EvidenceRun(run_id, tuple(records), tuple(problems), len(files.keys() - vouched))


def _all_runs(directory: Path) -> list[str]:
    folder = directory / RUNS
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def _record_files(folder: Path) -> dict[str, Evidence]:
    """Return the records by digest. Invalid and renamed files are omitted; a leaf then lacks its record."""
    found = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        data = path.read_bytes()
        try:
            evidence, digest = Evidence.model_validate_json(data), sha256_hex(data)
        except ValidationError:
            continue
        if path.name == record_file_name(evidence.check_id, evidence.target, digest):
            found[digest] = evidence
    return found
