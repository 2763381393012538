"""Stores evidence: raw output, population, record, and a ledger leaf for each. `layout` has the names of the files.

    store = EvidenceStore(state / "evidence", ledger, run_id=new_run_id())
    store.add_all([(evidence, raw), ...])
    run = load_run(state / "evidence", store.run_id, LedgerReader(state / "ledger"))

Files are written before the leaf: after a crash there can be files without a leaf, which are ignored, but no leaf
without files. `runs` reads evidence back, and verifies every file against the ledger.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_many
from sovctl.support.canonical_json import canonical_json, sha256_hex
from sovctl.support.errors import InputError

from ..ledger.store import Ledger
from .completeness import record_problems
from .layout import GATE, POPULATIONS, RAW, RUNS, is_run_id, leaf_of, record_file_name
from .record import Evidence


@dataclass(frozen=True)
class StoredEvidence:
    """A record with a matching leaf in the ledger."""

    evidence: Evidence
    sha256: str
    """SHA-256 of the canonical JSON of the record, as in the leaf."""
    run_id: str
    leaf_index: int


def new_run_id(*, is_gate: bool = False) -> str:
    """Return a unique run id that sorts by time, such as `20261121T101500Z-3fa9`.

    Args:
        is_gate: the run is part of an apply.
    """
    return f"{GATE if is_gate else ''}{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


class EvidenceStore:
    """Stores the evidence of one run.

    Args:
        directory: the evidence folder, created if absent.
        ledger: open for writing.
        run_id: letters, digits, dots, hyphens and underscores; see `new_run_id`.

    Raises:
        InputError: invalid run id.
    """

    def __init__(self, directory: Path, ledger: Ledger, *, run_id: str) -> None:
        self.directory = directory
        self.run_id = checked_run_id(run_id)
        self._ledger = ledger
        self._seen: set[tuple[str, str]] = set()

    def add(self, evidence: Evidence, raw: bytes) -> StoredEvidence:
        """Store one record and its raw output. Both, and the leaf, are durable on return."""
        return self.add_all([(evidence, raw)])[0]

    def add_all(self, items: Iterable[tuple[Evidence, bytes]]) -> list[StoredEvidence]:
        """Store records with one commit to the ledger.

        Returns:
            The stored records, in the order of `items`.

        Raises:
            InputError: a record is incomplete, a digest does not match its raw output, a target is not in its
                population, or a target has two records of one check in this run. Nothing was written.
            LedgerUnwritable: see `Ledger.append`.
        """
        files: dict[Path, bytes] = {}
        leaves, records, seen = [], [], set(self._seen)
        for evidence, raw in items:
            record = evidence.as_record()
            _require_consistent(evidence, record, raw, seen)
            data = canonical_json(record)
            digest = sha256_hex(data)
            files[self.directory / RAW / evidence.raw_sha256] = raw
            files[self.directory / POPULATIONS / evidence.population.sha256] = evidence.population.data
            files[
                self.directory / RUNS / self.run_id / record_file_name(evidence.check_id, evidence.target, digest)
            ] = data
            leaves.append(leaf_of(record, digest, self.run_id))
            records.append((evidence, digest))
        write_many(files)
        indices = self._ledger.append(leaves)
        self._seen = seen
        return [
            StoredEvidence(evidence, digest, self.run_id, index)
            for (evidence, digest), index in zip(records, indices, strict=True)
        ]


def leaf_record(evidence: Evidence, digest: str, run_id: str) -> dict[str, object]:
    """Return the ledger leaf of a record. See docs/ledger-records.md."""
    return leaf_of(evidence.as_record(), digest, run_id)


def checked_run_id(run_id: str) -> str:
    """Return `run_id` if it is valid as the name of a folder.

    Raises:
        InputError: invalid run id.
    """
    if not is_run_id(run_id):
        raise InputError(f"expected a run id of letters, digits, '.', '-' and '_', got {run_id[:80]!r}")
    return run_id


def _require_consistent(evidence: Evidence, record: Mapping[str, Any], raw: bytes, seen: set[tuple[str, str]]) -> None:
    where = f"{evidence.check_id} on {evidence.target}"
    # A changed copy of a valid record was not validated.
    for problem in record_problems(record):
        raise InputError(f"incomplete evidence: {problem}", where=where)
    if sha256_hex(raw) != evidence.raw_sha256:
        raise InputError(
            f"expected raw output with digest {evidence.raw_sha256[:16]}, got {sha256_hex(raw)[:16]}", where=where
        )
    if evidence.target not in evidence.population.sampled:
        raise InputError("the target is not in the population of the check", where=where)
    if (evidence.check_id, evidence.target) in seen:
        # Otherwise a failed check could be repeated until it passes.
        raise InputError("second record of a check for the same target and run", where=where)
    seen.add((evidence.check_id, evidence.target))
