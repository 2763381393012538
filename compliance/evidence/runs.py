"""Reads the evidence of a run back, and checks every file against the ledger.

    run = load_run(state / "evidence", run_id, LedgerReader(state / "ledger"))

Record and raw output count as evidence only if the ledger has a leaf with their digests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError, SovctlError

from ..ledger.format import Entry
from ..ledger.reader import LedgerReader
from .layout import GATE, POPULATIONS, RAW, RUNS, is_current, leaf_of, record_file_name
from .record import Evidence, Population
from .store import StoredEvidence, checked_run_id

VERIFY_AGAIN = "run `sovctl verify`"


class EvidenceDamaged(SovctlError):
    """Evidence differs from its leaf in the ledger."""


class EarlierRelease(InputError):
    """A record has the format of an earlier release, and does not count as evidence."""


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
    outdated: int = 0
    """Number of unaltered records of an earlier release, which do not count as evidence."""


def list_runs(directory: Path) -> list[str]:
    """Return the ids of the runs of `sovctl verify`, oldest first."""
    return [run_id for run_id in _all_runs(directory) if not run_id.startswith(GATE)]


def load_run(directory: Path, run_id: str, reader: LedgerReader) -> EvidenceRun:
    """Return the evidence of one run. Every digest is compared with the ledger.

    Raises:
        InputError: unknown run.
        EarlierRelease: records of the run have the format of an earlier release.
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
    if run.outdated:
        raise EarlierRelease(
            f"{run.outdated} records of run {run_id} have the format of an earlier release and do not count as "
            "evidence, because they lack required fields",
            where=str(directory / RUNS / run_id),
            hint=VERIFY_AGAIN,
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
    return _content(directory / RAW / digest, "raw output")


def read_population(directory: Path, digest: str) -> Population:
    """Return the population with the given SHA-256.

    Raises:
        EvidenceDamaged: absent, altered or invalid.
    """
    path = directory / POPULATIONS / digest
    try:
        return Population.model_validate_json(_content(path, "population"))
    except ValidationError as error:
        raise EvidenceDamaged(f"invalid population: {_first(error)}", where=str(path)) from None


def _content(path: Path, what: str) -> bytes:
    """Return the content of a file whose name is its SHA-256."""
    try:
        data = path.read_bytes()
    except OSError:
        raise EvidenceDamaged(f"{what} is missing", where=str(path)) from None
    if sha256_hex(data) != path.name:
        raise EvidenceDamaged(
            f"expected {what} with digest {path.name[:16]}, got {sha256_hex(data)[:16]}", where=str(path)
        )
    return data


def _read_run(directory: Path, run_id: str, leaves: Sequence[Entry]) -> EvidenceRun:
    files = _record_files(directory / RUNS / run_id)
    populations: dict[str, Population] = {}
    records, problems, vouched, outdated = [], [], set(), 0
    for entry in leaves:
        vouched.add(str(entry.record.get("sha256", "")))
        try:
            records.append(checked_record(directory, entry, files, populations))
        except EarlierRelease:
            outdated += 1
        except EvidenceDamaged as error:
            where = f"{entry.record.get('check_id')} on {entry.record.get('target')}, run {run_id}"
            problems.append(f"{where}: {error.message}")
    return EvidenceRun(run_id, tuple(records), tuple(problems), len(files.keys() - vouched), outdated)


def checked_record(
    directory: Path, entry: Entry, files: Mapping[str, Mapping[str, Any]], populations: dict[str, Population]
) -> StoredEvidence:
    """Return the record of a ledger entry, compared with the entry, and with its raw output and population.

    Args:
        files: records by digest.
        populations: by digest; further ones are added.

    Raises:
        EvidenceDamaged: a part is missing, altered or incomplete.
        EarlierRelease: the record is unaltered, and has the format of an earlier release.
    """
    leaf = entry.record
    digest = str(leaf.get("sha256", ""))
    record = files.get(digest)
    if record is None:
        raise EvidenceDamaged(f"the record with digest {digest[:16]} is missing (deleted, altered or renamed)")
    if not _agrees(record, digest, leaf):
        raise EvidenceDamaged("the ledger leaf differs from the record")
    read_raw(directory, leaf["raw_sha256"])
    if not is_current(record):
        raise EarlierRelease("the record has the format of an earlier release, and does not count as evidence")
    name = leaf["population_sha256"]
    population = populations.get(name) or populations.setdefault(name, read_population(directory, name))
    try:
        evidence = Evidence.of_record(record, population)
    except ValidationError as error:
        raise EvidenceDamaged(f"incomplete evidence: {_first(error)}") from None
    return StoredEvidence(evidence, digest, leaf["run_id"], entry.leaf_index)


def _agrees(record: Mapping[str, Any], digest: str, leaf: Mapping[str, Any]) -> bool:
    try:
        return leaf_of(record, digest, str(leaf.get("run_id"))) == leaf
    except KeyError:
        return False


def _first(error: ValidationError) -> str:
    """Return the first problem with its field, without the value."""
    problem = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, problem["loc"]))
    return f"{place}: {problem['msg']}" if place else problem["msg"]


def _all_runs(directory: Path) -> list[str]:
    folder = directory / RUNS
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def _record_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the records by digest. Invalid and renamed files are omitted; a leaf then lacks its record."""
    found = [read_record(path) for path in sorted(folder.glob("*.json"))] if folder.is_dir() else []
    return dict(filter(None, found))


def read_record(path: Path) -> tuple[str, dict[str, Any]] | None:
    """Return digest and content of a file of a record; None if it is absent, invalid or renamed."""
    try:
        data = path.read_bytes()
        record, digest = json.loads(data), sha256_hex(data)
        is_own = path.name == record_file_name(record["check_id"], record["target"], digest)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return (digest, record) if is_own else None
