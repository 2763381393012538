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

from ..evidence.layout import RAW, RUNS, is_run_id, is_sha256, leaf_of, record_file_name
from ..ledger.reader import LedgerReader
from .files import content, file_names, file_sha256, parse_object
from .result import AuditResult

AREA = "evidence"


@dataclass(frozen=True)
class _Expected:
    """A file that the ledger requires."""

    index: int
    sha256: str
    leaf: Mapping[str, Any]


def compare_evidence(directory: Path, reader: LedgerReader, result: AuditResult) -> None:
    """Check every record and raw output that the ledger requires, and every further file.

    Args:
        directory: the evidence folder; its files are reported as `evidence/...`.
    """
    records, raw = _required(reader, result)
    names = {each.sha256: name for name, each in [*raw.items(), *records.items()]}
    bad_raw = {name for name, each in raw.items() if not _is_as_logged(directory, name, each, names, result)}
    whole: Counter[str] = Counter()
    for name, each in records.items():
        if _is_as_logged(directory, name, each, names, result) and _agrees(directory, name, each, result):
            whole[each.leaf["run_id"]] += f"{RAW}/{each.leaf['raw_sha256']}" not in bad_raw
    for run_id in sorted(whole):
        result.facts.append(f"{AREA}: run {run_id}, {whole[run_id]} records with raw output as in the ledger")
    _judge_further(directory, [n for n in file_names(directory) if n not in records and n not in raw], names, result)


def _required(reader: LedgerReader, result: AuditResult) -> tuple[dict[str, _Expected], dict[str, _Expected]]:
    """Return the required record files and raw outputs by name, in ledger order."""
    records: dict[str, _Expected] = {}
    raw: dict[str, _Expected] = {}
    for index, leaf in _leaves(reader):
        check_id, target = leaf.get("check_id"), leaf.get("target")
        digests = [leaf.get(name) for name in ("sha256", "raw_sha256")]
        is_valid = is_run_id(leaf.get("run_id")) and all(is_sha256(each) for each in digests)
        if not is_valid or not isinstance(check_id, str) or not isinstance(target, str):
            result.find(AREA, f"ledger entry {index} is not a valid evidence entry", first_index=index)
            continue
        digest, raw_digest = map(str, digests)
        name = record_file_name(check_id, target, digest)
        records[f"{RUNS}/{leaf['run_id']}/{name}"] = _Expected(index, digest, leaf)
        raw.setdefault(f"{RAW}/{raw_digest}", _Expected(index, raw_digest, leaf))
    return records, raw


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
    what = "the record" if name.startswith(RUNS) else "raw output"
    if not digest:
        message = f"{name}: {what} of ledger entry {expected.index} is missing or unreadable"
    elif digest in names:
        message = f"{name}: expected {what} of ledger entry {expected.index}, got the content of {names[digest]}"
    else:
        message = f"{name}: {what} differs from ledger entry {expected.index}"
    result.find(AREA, message, file=f"evidence/{name}", first_index=expected.index)
    return False


def _agrees(directory: Path, name: str, expected: _Expected, result: AuditResult) -> bool:
    """Check that the ledger entry states the verdict and digests of the record."""
    try:
        record = parse_object(content(directory / name) or b"")
        is_equal = leaf_of(record, expected.sha256, expected.leaf["run_id"]) == expected.leaf
    except (ValueError, KeyError):
        is_equal = False
    if not is_equal:
        message = f"{name}: ledger entry {expected.index} differs from the record"
        result.find(AREA, message, file=f"evidence/{name}", first_index=expected.index)
    return is_equal


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
        elif path.parent == Path(RAW) and path.name == digest:
            unacknowledged["raw output"] += 1
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
