"""The report as plain values: everything the renderings show and the verifier checks. Pure.

`report.json` is exactly this. The same inputs give the same bytes; the only time in it that is not evidence is
`generated`, which is given.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sovctl.support.errors import InputError

from ..controls.assessment import Assessment, ControlResult
from ..evidence.runs import EvidenceRun
from ..evidence.store import StoredEvidence, leaf_record
from ..ledger.checkpoint import Checkpoint

FORMAT = "sovctl-report-v1"
STATEMENT = (
    "This report is evidence for the controls it lists, gathered at the times it states. It is not a statement that "
    "any law, standard or contract is fulfilled; that judgement stays with people."
)
LIMITS = (
    "A control counts as passed only for the part named as supported; what stays with people is named beside it.",
    "Controls that are not run were not looked at. They count neither for nor against.",
    "Evidence says how a target was at the time of its record, not before and not after.",
    "Evidence left out of a report cannot be found from it alone; compare it with the whole ledger on the site.",
    "The ledger shows that a record was not changed since it was written. That it was true then rests on the checks.",
    "The checks' commands and raw output are here, to be read and run again.",
)
VERIFY_COMMANDS = (
    "python3 verify_report.py . --key /path/to/the/key/you/kept.vkey",
    "sovctl audit verify .",
    "sovctl audit verify --ledger /path/to/.sovctl/ledger --checkpoint checkpoint --key log.vkey",
)


@dataclass(frozen=True)
class Subject:
    """What the report is about."""

    site: str
    """Name of the site."""
    jurisdiction: str = ""
    """ISO 3166-1 alpha-2; empty when the site description was not at hand."""
    placement: str = ""
    """`on-prem` or `hybrid`; empty likewise."""


def build_document(
    assessment: Assessment,
    run: EvidenceRun,
    *,
    subject: Subject,
    checkpoint: Checkpoint,
    vkey: str,
    proofs: Mapping[int, Sequence[bytes]],
    generated: str,
    tool_version: str,
) -> dict[str, Any]:
    """The whole report.

    Args:
        checkpoint: covers every record of `run`.
        vkey: public key of the ledger, C2SP text.
        proofs: audit path of each record's leaf in the checkpoint's tree, by leaf index.
        generated: when, UTC, such as `2026-11-21T10:30:00Z`; its day decides which waivers count.

    Raises:
        InputError: the run's records speak of more than one site description, or end after `generated`.
    """
    ended = max((record.evidence.ended for record in run.records), default="")
    if generated[:19] < ended[:19]:  # both UTC, to the second
        raise InputError(
            f"expected a time not before the evidence, which ended {ended}, got {generated}",
            where=f"run {run.run_id}",
            hint="set this machine's clock right: waivers count by it",
        )
    specs = sorted({record.evidence.spec_sha256 for record in run.records})
    if len(specs) > 1:
        raise InputError(
            f"expected the evidence of one site description, got {len(specs)} ({', '.join(s[:12] for s in specs)})",
            where=f"run {run.run_id}",
            hint="run `sovctl verify` again and report on that run",
        )
    counts = assessment.counts()
    return {
        "format": FORMAT,
        "generated": generated,
        "tool_version": tool_version,
        "statement": STATEMENT,
        "limits": list(LIMITS),
        "verify": list(VERIFY_COMMANDS),
        "subject": {"site": subject.site, "jurisdiction": subject.jurisdiction, "placement": subject.placement},
        "run": {
            "id": run.run_id,
            "started": min((record.evidence.started for record in run.records), default=""),
            "ended": ended,
            "actors": sorted({record.evidence.actor for record in run.records}),
            "spec_sha256": specs,
            "plan_sha256": sorted({r.evidence.plan_sha256 for r in run.records if r.evidence.plan_sha256}),
            "records": len(run.records),
            "simulated_records": sum(record.evidence.simulated for record in run.records),
            "unacknowledged": run.unacknowledged,
        },
        "simulated": any(record.evidence.simulated for record in run.records),
        "pack": {
            "name": assessment.pack.name,
            "title": assessment.pack.title,
            "source": assessment.pack.source,
            "licence": assessment.pack.licence,
            "sha256": assessment.pack.sha256,
        },
        "summary": {
            "sentence": assessment.sentence(),
            "total": len(assessment.results),
            "decided": sum(number for state, number in counts.items() if state.is_decided),
            "states": {state.value: number for state, number in counts.items()},
        },
        "controls": [_control(result) for result in assessment.results],
        "evidence": [_evidence(record, proofs[record.leaf_index]) for record in run.records],
        "ledger": {
            "origin": checkpoint.origin,
            "size": checkpoint.size,
            "root": checkpoint.root.hex(),
            "vkey": vkey,
            "checkpoint": checkpoint.text,
        },
    }


def document_bytes(document: Mapping[str, Any]) -> bytes:
    """The document as it lies in `report.json`: sorted keys, one field to a line, UTF-8."""
    return (json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _control(result: ControlResult) -> dict[str, Any]:
    control, mapping = result.control, result.control.mapping
    return {
        "id": control.id,
        "title": control.title,
        "family": control.family,
        "state": result.state.value,
        "simulated": result.simulated,
        "reasons": list(result.reasons),
        "warnings": result.warnings,
        "mapping": mapping.model_dump(mode="json") if mapping else None,
        "waivers": [waiver.model_dump(mode="json") for waiver in result.waivers],
        "attestation": result.attestation.model_dump(mode="json") if result.attestation else None,
    }


def _evidence(record: StoredEvidence, proof: Sequence[bytes]) -> dict[str, Any]:
    return {
        "sha256": record.sha256,
        "record": record.evidence.model_dump(mode="json"),
        "leaf_index": record.leaf_index,
        "leaf": leaf_record(record.evidence, record.sha256, record.run_id),
        "proof": [base64.b64encode(value).decode() for value in proof],
    }
