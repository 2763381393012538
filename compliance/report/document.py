"""Builds the report as plain values (`report.json`), the input of the renderings and the verifier. Pure.

Equal inputs give equal bytes. The only time that is not part of the evidence is `generated`, an argument.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sovctl.support.errors import InputError

from ..controls.assessment import Assessment, ControlResult
from ..controls.poam import PoamItem
from ..evidence.layout import NONE, leaf_of
from ..evidence.runs import EvidenceRun
from ..evidence.store import StoredEvidence
from ..ledger.checkpoint import Checkpoint
from .foreign import ForeignImport, foreign_section

# The encoder of the standard library is written in C only for JSON without indentation.
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
FORMAT = "sovctl-report-v2"
STATEMENT = (
    "This report is evidence for the controls it lists, gathered at the times it states. It is not a statement that "
    "any law, standard or contract is fulfilled; that judgement is made by people."
)
LIMITS = (
    "A control is passed only for the part listed as supported; the part that requires people is listed next to it.",
    "Controls with state not-run have no evidence. They count neither as passed nor as failed.",
    "Expired evidence does not count, except a failure: it stays until the target is measured again.",
    "Evidence describes a target at the time of its record, not before and not after.",
    "Evidence omitted from a report cannot be detected from the report; compare it with the ledger of the site.",
    "Without a checkpoint kept outside the site, an older or re-signed copy of its ledger cannot be excluded.",
    "The ledger proves that a record is unchanged since it was written. Its correctness depends on the checks.",
    "The report contains the commands and raw output of the checks, so that they can be reviewed and repeated.",
)
VERIFY_COMMANDS = (
    "python3 sovctl-verify.pyz . --checkpoint /path/to/the/checkpoint/you/kept --key /path/to/the/key/you/kept.vkey",
    "sovctl audit verify .",
    "sovctl audit verify --ledger /path/to/.sovctl/ledger --checkpoint checkpoint --key log.vkey",
)


@dataclass(frozen=True)
class Subject:
    """The site of a report."""

    site: str
    """Name of the site."""
    jurisdiction: str = ""
    """ISO 3166-1 alpha-2; empty if site.yaml was not available."""
    placement: str = ""
    """`on-prem` or `hybrid`; empty if site.yaml was not available."""


@dataclass(frozen=True)
class Figure:
    """A drawing of evidence.

    Args:
        svg: without scripts and references; its styles apply only within it.
        records: SHA-256 of the records from whose raw output it was drawn.
    """

    title: str
    svg: str
    records: tuple[str, ...]


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
    figures: Sequence[Figure] = (),
    poam: Sequence[PoamItem] = (),
    foreign: Sequence[ForeignImport] = (),
    waiver_policy: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the report.

    Args:
        checkpoint: covers every record of `run`.
        vkey: public key of the ledger, C2SP vkey text.
        proofs: audit path of each leaf in the tree of the checkpoint, by leaf index.
        generated: UTC time such as `2026-11-21T10:30:00Z`; its day selects the waivers in effect.
        figures: drawings of the run's evidence.
        poam: rows of the plan of action, in their order.
        foreign: results of other tools; `proofs` has their audit paths.
        waiver_policy: site and keys of persons that approve waivers; None: waivers need no signature.

    Raises:
        InputError: the records are of several versions of site.yaml, or newer than `generated`.
    """
    ended = max((record.evidence.ended for record in run.records), default="")
    if generated[:19] < ended[:19]:  # both UTC, to the second
        raise InputError(
            f"the time of the report, {generated}, is before the end of the evidence, {ended}",
            where=f"run {run.run_id}",
            hint="correct the clock of this machine; it decides which waivers are in effect",
        )
    specs = sorted({record.evidence.spec_sha256 for record in run.records})
    if len(specs) > 1:
        raise InputError(
            f"expected the evidence of one site description, got {len(specs)} ({', '.join(s[:12] for s in specs)})",
            where=f"run {run.run_id}",
            hint="run `sovctl verify` again and report on that run",
        )
    counts = assessment.counts()
    populations = {record.evidence.population.sha256: record.evidence.population for record in run.records}.values()
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
            "actors": sorted({str(record.evidence.actor) for record in run.records}),
            "spec_sha256": specs,
            "plan_sha256": sorted({record.evidence.plan_sha256 for record in run.records} - {NONE}),
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
            "version": assessment.pack.version,
            "kind": assessment.pack.kind.value,
            "jurisdiction": assessment.pack.jurisdiction,
            "date": assessment.pack.date,
            "note": assessment.pack.note,
            "sha256": assessment.pack.sha256,
        },
        "summary": {
            "sentence": assessment.sentence(),
            "total": len(assessment.results),
            "decided": assessment.decided,
            "states": {state.value: number for state, number in counts.items()},
            "stale_records": len({r.sha256 for each in assessment.results for c in each.checks for r in c.stale}),
            "families": [
                {"family": family, "total": sum(found.values()), "states": {s.value: n for s, n in found.items()}}
                for family, found in assessment.by_family().items()
            ],
        },
        "waiver_policy": waiver_policy,
        "controls": [_control(result) for result in assessment.results],
        "populations": {each.sha256: each.model_dump(mode="json") for each in populations},
        "evidence": [_evidence(record, proofs[record.leaf_index]) for record in run.records],
        "poam": [each.as_json() for each in poam],
        "foreign": [foreign_section(each, assessment.pack.name, proofs[each.leaf_index]) for each in foreign],
        "figures": [{"title": each.title, "svg": each.svg, "records": list(each.records)} for each in figures],
        "ledger": {
            "origin": checkpoint.origin,
            "size": checkpoint.size,
            "root": checkpoint.root.hex(),
            "vkey": vkey,
            "checkpoint": checkpoint.text,
        },
    }


def document_bytes(document: Mapping[str, Any]) -> bytes:
    """Return the content of `report.json`: sorted keys, one field or element of a list per line, UTF-8.

    Lines are compact, because the indenting encoder of Python takes ten times as long as the one in C.
    """
    fields = (f"{_ENCODER.encode(name)}: {_lines(document[name])}" for name in sorted(document))
    return ("{\n" + ",\n".join(fields) + "\n}\n").encode()


def _lines(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return _ENCODER.encode(value)
    return "[\n" + ",\n".join(map(_ENCODER.encode, value)) + "\n]"


def _control(result: ControlResult) -> dict[str, Any]:
    control, mapping = result.control, result.control.mapping
    return {
        "id": control.id,
        "title": control.title,
        "family": control.family,
        "unsure": control.unsure,
        "state": result.state.value,
        "simulated": result.simulated,
        "reasons": list(result.reasons),
        "warnings": result.warnings,
        "coverage": asdict(result.coverage),
        "mapping": mapping.model_dump(mode="json") if mapping else None,
        "waivers": [waiver.model_dump(mode="json") for waiver in result.waivers],
        "attestation": result.attestation.model_dump(mode="json") if result.attestation else None,
    }


def _evidence(record: StoredEvidence, proof: Sequence[bytes]) -> dict[str, Any]:
    values = record.evidence.as_record()
    return {
        "sha256": record.sha256,
        "record": values,
        "leaf_index": record.leaf_index,
        "leaf": leaf_of(values, record.sha256, record.run_id),
        "proof": [base64.b64encode(value).decode() for value in proof],
    }
