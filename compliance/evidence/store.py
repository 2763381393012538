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
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sovctl.support.atomic_files import write_many
from sovctl.support.canonical_json import canonical_json, sha256_hex
from sovctl.support.errors import InputError

from ..ledger.store import Ledger
from .record import Evidence

RAW, RUNS = "raw", "runs"
_RUN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,79}")
_UNSAFE = re.compile(r"[^0-9A-Za-z._-]")


@dataclass(frozen=True)
class StoredEvidence:
    """A record that the ledger vouches for."""

    evidence: Evidence
    sha256: str
    """Of the record's canonical JSON; what the leaf holds."""
    run_id: str
    leaf_index: int


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


def checked_run_id(run_id: str) -> str:
    """`run_id` when it can be a folder's name.

    Raises:
        InputError: it cannot.
    """
    if not _RUN_ID.fullmatch(run_id):
        raise InputError(f"expected a run id of letters, digits, '.', '-' and '_', got {run_id[:80]!r}")
    return run_id


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
