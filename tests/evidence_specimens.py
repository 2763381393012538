"""Invented evidence for tests: whole, and easy to vary."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sovctl.compliance.controls.pack import ControlMap, Objective
from sovctl.compliance.evidence.layout import RAW, RUNS, leaf_of, record_file_name
from sovctl.compliance.evidence.record import WHOLE, Actor, Clock, Evidence, Population, Tool
from sovctl.compliance.evidence.store import EvidenceStore, StoredEvidence
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import SigningKey, load_or_create
from sovctl.support.canonical_json import canonical_json, sha256_hex

ORIGIN = "sovctl.site/test"
RUN_ID = "20261121T101500Z-0001"
NODES = ["gpu-1", "gpu-2", "services"]


ACTOR = Actor(user="ops", account="root", host="controller.example.test")
TOOL = Tool(version="0.1.0", record_sha256="7" * 64, is_editable=False)
CLOCK = Clock(measured="2026-11-21T10:14:59Z", offset_us=-120, source="ntp.example.test, by chronyc tracking")


def population(declared: Iterable[str], **fields: Any) -> Population:
    """A population of which every target was sampled and discovered, if no field says otherwise."""
    names = tuple(sorted({*declared}))
    values = {"query": "targets in site.yaml", "declared": names, "sample_rule": WHOLE, "sampled": names}
    return Population.of(**(values | {"discovery": "nodes that answered", "discovered": names} | fields))


def made(check_id: str, target: str = "site", verdict: str = "PASS", **fields: Any) -> tuple[Evidence, bytes]:
    """One record with its raw output; any field may be given."""
    raw = fields.pop("raw", f"{check_id} on {target} said {verdict}\n".encode())
    reason = f"expected what is right, got {'it' if verdict == 'PASS' else 'something else'}"
    values: dict[str, Any] = {
        "check_id": check_id,
        "check_version": 1,
        "check_sha256": "4" * 64,
        "title": f"{check_id} holds",
        "method": "TEST",
        "target": target,
        "population": population({target, *fields.pop("others", [])}),
        "command": f"probe {check_id}",
        "exit_code": 0,
        "rule": "judge of the check on complete output",
        "previous": "none",
        "raw_sha256": sha256_hex(raw),
        "started": "2026-11-21T10:15:00Z",
        "ended": "2026-11-21T10:15:01.5Z",
        "expires": "2036-12-21T10:15:01Z",
        "verdict": verdict,
        "reason": reason,
        "simulated": False,
        "actor": ACTOR,
        "tool": TOOL,
        "clock": CLOCK,
        "spec_sha256": "5" * 64,
        "plan_sha256": "6" * 64,
        "apply_run": "20261121T090000.000Z-aaaaaaaa",
    }
    return Evidence(**(values | fields)), raw


def control_map(*checks: str, if_present: tuple[str, ...] = ()) -> ControlMap:
    """The map of a control with one objective that needs these checks."""
    objective = Objective(name="o", statement="s.", checks=checks, if_present=if_present, supports="s.", people="p.")
    return ControlMap(objectives=(objective,), because="b.")


def everywhere(check_id: str, verdict: str = "PASS", **fields: Any) -> list[tuple[Evidence, bytes]]:
    """The same on every node."""
    return [made(check_id, node, verdict, others=NODES, **fields) for node in NODES]


def stored(items: list[tuple[Evidence, bytes]], run_id: str = RUN_ID) -> list[StoredEvidence]:
    """As if the ledger had them, from index 0."""
    return [
        StoredEvidence(evidence, sha256_hex(canonical_json(evidence.as_record())), run_id, index)
        for index, (evidence, _) in enumerate(items)
    ]


def state_key(state: Path) -> SigningKey:
    """The key of a state folder, made on demand."""
    return load_or_create(state / "keys" / "ledger.key")


def open_ledger(state: Path) -> Ledger:
    """The ledger of a state folder."""
    return Ledger.open(state / "ledger", origin=ORIGIN, key=state_key(state))


EARLIER_RECORD: dict[str, Any] = {
    "check_id": "gpu.old",
    "check_version": 1,
    "target": "gpu-1",
    "verdict": "PASS",
    "simulated": False,
    "population": ["gpu-1"],
    "raw_sha256": sha256_hex("old"),
    "ended": "2026-11-21T10:15:01Z",
}
"""A record of the format before `sovctl-evidence-v2`."""


def fill_plain(state: Path, record: dict[str, Any]) -> str:
    """Store a record that `EvidenceStore` refuses, with its ledger entry; return its digest."""
    data = canonical_json(record)
    digest, evidence = sha256_hex(data), state / "evidence"
    (evidence / RAW / sha256_hex("old")).write_bytes(b"old")
    (evidence / RUNS / RUN_ID / record_file_name(record["check_id"], record["target"], digest)).write_bytes(data)
    with open_ledger(state) as ledger:
        ledger.append([leaf_of(record, digest, RUN_ID)])
    return digest


def fill(state: Path, items: list[tuple[Evidence, bytes]], run_id: str = RUN_ID) -> list[StoredEvidence]:
    """Store evidence in a state folder as `sovctl verify` does."""
    with open_ledger(state) as ledger:
        return EvidenceStore(state / "evidence", ledger, run_id=run_id).add_all(items)
