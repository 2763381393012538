"""Compares the evidence files of a site with its ledger.

A ledger entry determines the name and the content of a record file, and the name of its raw output is its SHA-256.
Swapped, renamed, altered, deleted and added files are findings. Files without an entry that a killed run can leave,
complete and under their own name, are notes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.support.plain_json import sha256_hex

from ..evidence.completeness import population_problems, record_problems
from ..evidence.layout import POPULATIONS, RAW, RUNS, is_current, is_run_id, is_sha256, leaf_of, record_file_name
from ..ledger.reader import LedgerReader
from .files import content, file_names, file_sha256, parse_object
from .result import AuditResult

AREA = "evidence"
_WHAT = {RUNS: "the record", RAW: "raw output", POPULATIONS: "the population"}


@dataclass(frozen=True)
class _Expected:
    """A file that the ledger requires."""

    index: int
    sha256: str
    leaf: Mapping[str, Any]


def compare_evidence(directory: Path, reader: LedgerReader, result: AuditResult) -> None:
    """Check every record, population and raw output that the ledger requires, and every further file.

    Args:
        directory: the evidence folder; its files are reported as `evidence/...`.
    """
    records, parts = _required(reader, result)
    names = {each.sha256: name for name, each in [*parts.items(), *records.items()]}
    bad = {name for name, each in parts.items() if not _is_as_logged(directory, name, each, names, result)}
    samples = {name: _sample(directory, name, each, result) for name, each in parts.items() if name not in bad}
    whole: Counter[str] = Counter()
    earlier: Counter[str] = Counter()
    for name, each in records.items():
        record = _read(directory, name, each, result) if _is_as_logged(directory, name, each, names, result) else None
        if record is None:
            continue
        run_id, population = each.leaf["run_id"], f"{POPULATIONS}/{each.leaf.get('population_sha256')}"
        if not is_current(record):
            earlier[run_id] += 1
            continue
        whole[run_id] += not bad & {population, f"{RAW}/{each.leaf['raw_sha256']}"}
        for problem in _problems(record, samples.get(population)):
            message = f"{name}: incomplete evidence: {problem}"
            result.find(AREA, message, file=f"evidence/{name}", first_index=each.index)
    for run_id in sorted(whole):
        result.facts.append(f"{AREA}: run {run_id}, {whole[run_id]} records with raw output as in the ledger")
    for run_id in sorted(earlier):
        result.notes.append(
            f"{AREA}: run {run_id}, {earlier[run_id]} records have the format of an earlier release and do not count "
            "as evidence; run `sovctl verify`"
        )
    further = [name for name in file_names(directory) if name not in records and name not in parts]
    _judge_further(directory, further, names, result)


def _required(reader: LedgerReader, result: AuditResult) -> tuple[dict[str, _Expected], dict[str, _Expected]]:
    """Return the required record files, and the raw outputs and populations, by name in ledger order."""
    records: dict[str, _Expected] = {}
    parts: dict[str, _Expected] = {}
    for index, leaf in _leaves(reader):
        check_id, target = leaf.get("check_id"), leaf.get("target")
        # Leaves of earlier releases have no population.
        named = {RAW: "raw_sha256", POPULATIONS: "population_sha256"}
        digests = {folder: leaf.get(field) for folder, field in named.items() if field in leaf or folder == RAW}
        is_valid = is_run_id(leaf.get("run_id")) and all(map(is_sha256, (leaf.get("sha256"), *digests.values())))
        if not is_valid or not isinstance(check_id, str) or not isinstance(target, str):
            result.find(AREA, f"ledger entry {index} is not a valid evidence entry", first_index=index)
            continue
        name = record_file_name(check_id, target, leaf["sha256"])
        records[f"{RUNS}/{leaf['run_id']}/{name}"] = _Expected(index, leaf["sha256"], leaf)
        for folder, digest in digests.items():
            parts.setdefault(f"{folder}/{digest}", _Expected(index, str(digest), leaf))
    return records, parts


def _leaves(reader: LedgerReader) -> Iterator[tuple[int, dict[str, Any]]]:
    for entry in reader.entries():
        if b'"type":"evidence"' in entry.data and (record := entry.record).get("type") == "evidence":
            yield entry.leaf_index, record


def _is_as_logged(
    directory: Path, name: str, expected: _Expected, names: Mapping[str, str], result: AuditResult
) -> bool:
    digest = file_sha256(directory / name)
    if digest == expected.sha256:
        return True
    what = _WHAT[name.partition("/")[0]]
    if not digest:
        message = f"{name}: {what} of ledger entry {expected.index} is missing or unreadable"
    elif digest in names:
        message = f"{name}: expected {what} of ledger entry {expected.index}, got the content of {names[digest]}"
    else:
        message = f"{name}: {what} differs from ledger entry {expected.index}"
    result.find(AREA, message, file=f"evidence/{name}", first_index=expected.index)
    return False


def _read(directory: Path, name: str, expected: _Expected, result: AuditResult) -> dict[str, Any] | None:
    """Return a record; None, with a finding, if the ledger entry states another verdict or digest."""
    try:
        record = parse_object(content(directory / name) or b"")
        if leaf_of(record, expected.sha256, expected.leaf["run_id"]) == expected.leaf:
            return record
    except (ValueError, KeyError):
        pass
    message = f"{name}: ledger entry {expected.index} differs from the record"
    result.find(AREA, message, file=f"evidence/{name}", first_index=expected.index)
    return None


def _sample(directory: Path, name: str, expected: _Expected, result: AuditResult) -> frozenset[str] | None:
    """Return the sampled targets of a population, after checking its fields; None if a field is invalid."""
    if not name.startswith(f"{POPULATIONS}/"):
        return None
    try:
        population = parse_object(content(directory / name) or b"")
        problems = list(population_problems(population))
    except ValueError:
        population, problems = {}, ["expected a JSON object"]
    for problem in problems:
        result.find(AREA, f"{name}: {problem}", file=f"evidence/{name}", first_index=expected.index)
    return None if problems else frozenset(population["sampled"])


def _problems(record: Mapping[str, Any], sample: frozenset[str] | None) -> Iterator[str]:
    """Yield the problems of a record.

    Args:
        sample: targets of its population; None if the population has a finding already.
    """
    yield from record_problems(record)
    if sample is not None and record.get("target") not in sample:
        yield "the target is not in the sample of its population"


def _judge_further(directory: Path, further: list[str], names: Mapping[str, str], result: AuditResult) -> None:
    """Judge files that the ledger does not require."""
    unacknowledged: Counter[str] = Counter()
    for name in further:
        path = Path(name)
        digest = file_sha256(directory / name)
        if path.name.startswith("."):
            result.notes.append(f"{AREA}: {name} is a file of an interrupted write")
        elif digest in names:
            result.find(AREA, f"{name}: a copy of {names[digest]} under another name", file=f"evidence/{name}")
        elif path.parent in (Path(RAW), Path(POPULATIONS)) and path.name == digest:
            unacknowledged["raw output" if path.parent == Path(RAW) else "populations"] += 1
        elif path.parent.parent == Path(RUNS) and path.name == _own_name(content(directory / name) or b""):
            unacknowledged[f"records of run {path.parent.name}"] += 1
        else:
            result.find(AREA, f"{name}: no ledger entry, and not a file of an evidence run", file=f"evidence/{name}")
    for what, count in unacknowledged.items():
        result.notes.append(f"{AREA}: {count} {what} have no ledger entry and are ignored")


def _own_name(data: bytes) -> str:
    try:
        record = parse_object(data)
        return record_file_name(str(record["check_id"]), str(record["target"]), sha256_hex(data))
    except (ValueError, KeyError):
        return ""
