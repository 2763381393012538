"""Builds the state folder of a finished site in process: applies with journals, two verify runs, reports, a witness.

The parts are written by the code that writes them on a site: `Journal`, `EvidenceStore`, `publish`, `WitnessMemory`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sovctl.compliance.controls.framework import Pack, builtin_pack, load_pack
from sovctl.compliance.evidence.record import Evidence
from sovctl.compliance.evidence.store import EvidenceStore
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.witness import request
from sovctl.compliance.ledger.witness_memory import WitnessMemory
from sovctl.compliance.report.document import Subject
from sovctl.compliance.report.publish import publish
from sovctl.compliance.signing import SigningKey, load_or_create
from sovctl.compliance.verify_key import parse_vkey
from sovctl.engine.apply.journal import Journal, newest_line

from ..invented_evidence import invented, whole

ORIGIN = "sovctl.bench/site"
NODES = ["gpu-1", "gpu-2", "services"]
CHECKS = 10
NODE_EVENTS = 300  # more than one row of 256 entries, so that the tree has a file `level-1`
STEPS = ("started", "wave-started", "role-started", "role-finished", "wave-proven", "finished")


@dataclass(frozen=True)
class Site:
    """A finished site, and the files of its auditor."""

    state: Path
    older: Path
    """A copy of the state from the time between the two runs."""
    checkpoint: Path
    """Kept outside the site: the last checkpoint, with the cosignature of a witness."""
    log_key: Path
    witness_key: Path

    def copy(self, to: Path) -> Path:
        """Return a copy of the state."""
        return Path(shutil.copytree(self.state, to, symlinks=True))


def build(folder: Path) -> Site:
    """Build a site in an empty folder."""
    state, pack = folder / "state", load_pack(builtin_pack("nist-800-53-moderate"))
    _apply(state, "20261121T090000.000Z-aaaaaaaa")
    _append(state, [_node_event(number) for number in range(NODE_EVENTS)])
    _verify_and_report(state, pack, "20261121T101500Z-0001")
    older = Path(shutil.copytree(state, folder / "older"))
    _apply(state, "20261122T090000.000Z-bbbbbbbb")
    _verify_and_report(state, pack, "20261122T101500Z-0002")
    asked = folder / "request.txt"
    asked.write_text(request(LedgerReader(state / "ledger"), old_size=0))
    log_key = Path(shutil.copy(state / "ledger" / "log.vkey", folder / "kept.vkey"))
    memory = WitnessMemory(folder / "witness", name="auditor.bench")
    checkpoint = memory.sign(asked, log_key=parse_vkey(log_key.read_text()))
    return Site(state, older, checkpoint, log_key, folder / "witness" / "witness.vkey")


def key_of(state: Path) -> SigningKey:
    """Return the private key of the ledger, which an administrator of the site can read."""
    return load_or_create(state / "keys" / "ledger.key")


def open_ledger(state: Path) -> Ledger:
    """Open the ledger for writing."""
    return Ledger.open(state / "ledger", origin=ORIGIN, key=key_of(state))


def now() -> str:
    """Return the current time as in ledger entries."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _append(state: Path, records: list[dict[str, Any]]) -> None:
    with open_ledger(state) as ledger:
        ledger.append(records)


def _node_event(number: int) -> dict[str, Any]:
    event = {"node": NODES[number % 3], "event": "drained", "before": "active", "state": "drained"}
    return {"type": "node-event", "time": now(), "site": "bench", "reason": f"event {number}"} | event


def _apply(state: Path, run: str) -> None:
    before = newest_line(state / "journal") if (state / "journal").exists() else None
    with open_ledger(state) as ledger:

        def bind(kind: str, lines: int, sha256: str) -> None:
            record: dict[str, Any] = {"type": kind, "time": now(), "site": "bench", "plan_sha256": "6" * 64, "run": run}
            record |= {"simulated": True, "changes": 3, "journal_lines": lines, "journal_sha256": sha256}
            if kind == "apply-started" and before:
                record |= dict(zip(("previous_run", "previous_lines", "previous_sha256"), before, strict=True))
            ledger.append([record])

        with Journal(state / "journal", run, "6" * 64, bind) as journal:
            for step in STEPS:
                journal.write(step, node="gpu-1")


def _verify_and_report(state: Path, pack: Pack, run_id: str) -> None:
    with open_ledger(state) as ledger:
        EvidenceStore(state / "evidence", ledger, run_id=run_id).add_all(_records(pack, run_id))
        publish(
            evidence=state / "evidence",
            reports=state / "reports",
            ledger=ledger,
            pack=pack,
            subject=Subject("bench", "DE", "on-prem"),
            generated=datetime.now(UTC),
            tool_version="0",
        )


def _records(pack: Pack, run_id: str) -> Iterator[tuple[Evidence, bytes]]:
    population = whole(NODES)
    for check in sorted(pack.checks())[:CHECKS]:
        for node in NODES:
            raw = f"{check} on {node} in {run_id}\n".encode()
            times = {"started": now(), "ended": now(), "expires": "2100-01-01T00:00:00Z"}
            yield invented(check, node, population, raw, fails=node == "gpu-2", **times)
