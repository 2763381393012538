"""Evidence on the disk: raw output, record, and a leaf in the ledger for each record.

    evidence/raw/<sha256>                     what a tool printed, once for equal outputs
    evidence/runs/<run id>/<check>.<target>.<digest>.json    the record, canonical JSON; its SHA-256 is in the ledger

    store = EvidenceStore(state / "evidence", ledger, run_id=new_run_id())
    store.add_all([(evidence, raw), ...])
    run = load_run(state / "evidence", store.run_id, LedgerReader(state / "ledger"))

Files first, the leaf last: after a crash there may be a file nobody was told of, which counts for nothing, but never
a leaf without its file. Reading back trusts no file: what the ledger does not vouch for is no evidence.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from sovctl.support.atomic_files import write_many
from sovctl.support.canonical_json import canonical_json, sha256_hex
from sovctl.support.errors import InputError, SovctlError

from ..ledger.format import Entry
from ..ledger.reader import LedgerReader
from ..ledger.store import Ledger
from .record import Evidence

RAW, RUNS = "raw", "runs"
_RUN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,79}")
_UNSAFE = re.compile(r"[^0-9A-Za-z._-]")


class EvidenceDamaged(SovctlError):
    """Evidence is not what the ledger says it was."""


@dataclass(frozen=True)
class StoredEvidence:
    """A record that the ledger vouches for."""

    evidence: Evidence
    sha256: str
    """Of the record's canonical JSON; what the leaf holds."""
    run_id: str
    leaf_index: int


@dataclass(frozen=True)
class EvidenceRun:
    """Everything one run of `sovctl verify` found."""

    run_id: str
    records: tuple[StoredEvidence, ...]
    """In the order of the ledger."""
    problems: tuple[str, ...]
    """Evidence that is missing or was altered."""
    unacknowledged: int
    """Record files without a leaf: a run that was ended by force. They count for nothing."""


def new_run_id() -> str:
    """A name that sorts by time and is nobody else's, such as `20261121T101500Z-3fa9`."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


class EvidenceStore:
    """Where one run puts its evidence.

    Args:
        directory: the evidence folder, made when absent.
        ledger: open for writing.
        run_id: letters, digits, dots, hyphens and underscores; see `new_run_id`.

    Raises:
        InputError: the run id cannot be a folder's name.
    """

    def __init__(self, directory: Path, ledger: Ledger, *, run_id: str) -> None:
        self.directory = directory
        self.run_id = checked_run_id(run_id)
        self._ledger = ledger
        self._seen: set[tuple[str, str]] = set()

    def add(self, evidence: Evidence, raw: bytes) -> StoredEvidence:
        """Keep one record and its raw output; durable, in the ledger too, when this returns."""
        return self.add_all([(evidence, raw)])[0]

    def add_all(self, items: Iterable[tuple[Evidence, bytes]]) -> list[StoredEvidence]:
        """Keep many with one commit to the ledger.

        Returns:
            The stored records, in the order given.

        Raises:
            InputError: a digest does not fit its raw output, a target is outside its population, or a check speaks
                of a target for the second time in this run. Nothing was written then.
            LedgerUnwritable: see `Ledger.append`.
        """
        files: dict[Path, bytes] = {}
        leaves, records, seen = [], [], set(self._seen)
        for evidence, raw in items:
            _require_consistent(evidence, raw, seen)
            data = canonical_json(evidence.model_dump(mode="json"))
            digest = sha256_hex(data)
            files[self.directory / RAW / evidence.raw_sha256] = raw
            files[self.directory / RUNS / self.run_id / _file_name(evidence, digest)] = data
            leaves.append(leaf_record(evidence, digest, self.run_id))
            records.append((evidence, digest))
        write_many(files)
        indices = self._ledger.append(leaves)
        self._seen = seen
        return [
            StoredEvidence(evidence, digest, self.run_id, index)
            for (evidence, digest), index in zip(records, indices, strict=True)
        ]


def leaf_record(evidence: Evidence, digest: str, run_id: str) -> dict[str, object]:
    """What the ledger holds of a record: its digest, and enough to find it. See docs/ledger-records.md."""
    return {
        "type": "evidence",
        "run_id": run_id,
        "sha256": digest,
        "raw_sha256": evidence.raw_sha256,
        "check_id": evidence.check_id,
        "target": evidence.target,
        "verdict": evidence.verdict.value,
        "simulated": evidence.simulated,
    }


def list_runs(directory: Path) -> list[str]:
    """Run ids, oldest first; empty when there is no evidence."""
    folder = directory / RUNS
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def load_run(directory: Path, run_id: str, reader: LedgerReader) -> EvidenceRun:
    """The evidence of one run, every digest checked against the ledger.

    Raises:
        InputError: there is no such run.
        EvidenceDamaged: evidence is missing or was altered.
    """
    run = read_runs(directory, reader, only=checked_run_id(run_id)).get(run_id)
    if run is None:
        known = list_runs(directory)
        raise InputError(
            f"expected one of the runs {', '.join(known[-3:]) or '(none yet)'}, got {run_id}",
            where=str(directory / RUNS),
            hint="run `sovctl verify` first" if not known else "",
        )
    if run.problems:
        more = f" (and {len(run.problems) - 1} more)" if len(run.problems) > 1 else ""
        raise EvidenceDamaged(
            run.problems[0] + more, where=str(directory), hint="run `sovctl audit verify` to see all of it"
        )
    return run


def read_runs(directory: Path, reader: LedgerReader, *, only: str | None = None) -> dict[str, EvidenceRun]:
    """Every run, or `only` one, as ledger and files have it, problems and all; by run id, oldest first."""
    leaves: dict[str, list[Entry]] = {run_id: [] for run_id in list_runs(directory) if only in (None, run_id)}
    for entry in reader.entries():
        if b'"type":"evidence"' in entry.data and entry.record.get("type") == "evidence":
            run_id = str(entry.record.get("run_id", ""))
            if only in (None, run_id):
                leaves.setdefault(run_id, []).append(entry)
    return {run_id: _read_run(directory, run_id, leaves[run_id]) for run_id in sorted(leaves)}


def checked_run_id(run_id: str) -> str:
    """`run_id` when it can be a folder's name.

    Raises:
        InputError: it cannot.
    """
    if not _RUN_ID.fullmatch(run_id):
        raise InputError(f"expected a run id of letters, digits, '.', '-' and '_', got {run_id[:80]!r}")
    return run_id


def read_raw(directory: Path, digest: str) -> bytes:
    """The raw output with that SHA-256.

    Raises:
        EvidenceDamaged: absent, or no longer that.
    """
    try:
        raw = (directory / RAW / digest).read_bytes()
    except OSError:
        raise EvidenceDamaged("expected raw output, got none", where=str(directory / RAW / digest)) from None
    if sha256_hex(raw) != digest:
        raise EvidenceDamaged(
            f"expected raw output with digest {digest[:16]}, got {sha256_hex(raw)[:16]}",
            where=str(directory / RAW / digest),
        )
    return raw


def _require_consistent(evidence: Evidence, raw: bytes, seen: set[tuple[str, str]]) -> None:
    where = f"{evidence.check_id} on {evidence.target}"
    if sha256_hex(raw) != evidence.raw_sha256:
        raise InputError(
            f"expected raw output with digest {evidence.raw_sha256[:16]}, got {sha256_hex(raw)[:16]}", where=where
        )
    if evidence.target not in evidence.population:
        raise InputError("expected a target that belongs to the check's population, got another", where=where)
    if (evidence.check_id, evidence.target) in seen:
        # A check that may be asked until it says PASS is no check.
        raise InputError("expected one record of a check per target and run, got a second", where=where)
    seen.add((evidence.check_id, evidence.target))


def _file_name(evidence: Evidence, digest: str) -> str:
    stem = _UNSAFE.sub("_", f"{evidence.check_id}.{evidence.target}")[:120]
    return f"{stem}.{digest[:12]}.json"


def _read_run(directory: Path, run_id: str, leaves: Sequence[Entry]) -> EvidenceRun:
    files = _record_files(directory / RUNS / run_id)
    records, problems, vouched = [], [], set()
    for entry in leaves:
        leaf = entry.record
        digest, where = str(leaf.get("sha256", "")), f"{leaf.get('check_id')} on {leaf.get('target')}, run {run_id}"
        vouched.add(digest)
        evidence = files.get(digest)
        if evidence is None:
            problems.append(f"{where}: expected a record with digest {digest[:16]}, got none (deleted or altered)")
            continue
        if leaf_record(evidence, digest, run_id) != leaf:
            problems.append(f"{where}: expected a leaf that says what the record says, got another")
            continue
        try:
            read_raw(directory, evidence.raw_sha256)
        except EvidenceDamaged as error:
            problems.append(f"{where}: {error.message}")
            continue
        records.append(StoredEvidence(evidence, digest, run_id, entry.leaf_index))
    return EvidenceRun(run_id, tuple(records), tuple(problems), len(files.keys() - vouched))


def _record_files(folder: Path) -> dict[str, Evidence]:
    """Records by digest. A file that is no record is left out: its leaf will then miss it."""
    found = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        data = path.read_bytes()
        try:
            found[sha256_hex(data)] = Evidence.model_validate_json(data)
        except ValidationError:
            continue
    return found
