"""Writes the folder of a report atomically, and records the report in the ledger.

    reports/<run id>/          (or <run id>.2, .3, ... for further reports of the run)
      report.json              the document                 report.html      rendered for people
      checkpoint, log.vkey     for an auditor to keep        report.tlog-proof    proof that this report was logged
      raw/<sha256>             raw output of every record   sovctl-verify.pyz    standalone verifier
      oscal/                   OSCAL 1.2.1 documents        tables/, report.xlsx  for spreadsheets
      foreign/                 results of other tools
      report.pdf               for print, on request
      SHA256SUMS               digests of all files         signatures/          added later by persons

Order: all files are written to a hidden folder, their digests are appended to the ledger, the proof of that entry is
added, and the folder is renamed. After a crash, the next report completes a hidden folder whose digests are in the
ledger, and removes others, so that a missing report is always a finding of `sovctl audit verify`.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import sync_folder, write_atomic, write_many
from sovctl.support.canonical_json import canonical_json, sha256_hex
from sovctl.support.errors import InputError

from ..controls.assessment import assess
from ..controls.exceptions import Exceptions
from ..controls.pack import Pack
from ..controls.poam import Terms, plan_of_action
from ..controls.scope import without_target
from ..evidence.history import History
from ..evidence.runs import EvidenceRun, list_runs, load_run, read_raw
from ..ledger.checkpoint import Checkpoint
from ..ledger.errors import LedgerDamaged
from ..ledger.reader import LedgerReader
from ..ledger.store import Ledger
from ..ledger.verify import verify_ledger
from .artifacts import artifacts
from .document import Figure, Subject, build_document
from .foreign import ForeignImport
from .verifier_archive import FILE_NAME

ReadRaw = Callable[[str], bytes]
"""Returns the raw output of a record by its SHA-256."""


@dataclass(frozen=True)
class Published:
    """A stored report."""

    folder: Path
    document: Mapping[str, Any]
    leaf_index: int
    """Index of the ledger entry of the report."""


def publish(
    *,
    evidence: Path,
    reports: Path,
    ledger: Ledger,
    pack: Pack,
    subject: Subject,
    generated: datetime,
    tool_version: str,
    run_id: str | None = None,
    exceptions: Exceptions | None = None,
    former_ids: Mapping[str, str] | None = None,
    draw: Callable[[EvidenceRun, ReadRaw], Sequence[Figure]] | None = None,
    terms: Terms | None = None,
    foreign: Sequence[ForeignImport] = (),
    pdf: bool = False,
) -> Published:
    """Assess, render, log and store the report of one run.

    Args:
        evidence: the evidence folder.
        reports: parent of the new folder.
        ledger: open for writing; contains the evidence of the run.
        generated: current time (UTC); its day selects the waivers in effect.
        run_id: None: the newest run.
        former_ids: current check id by former id. Pack and exceptions have current ids; in the report they have the ids
            of the run's evidence, because its records are signed.
        draw: returns the figures of the report from the run's evidence; None: no figures.
        terms: of the plan of action, with current check ids; its history is read from the ledger.
        foreign: imported results of other tools.
        pdf: add `report.pdf`; needs the extra `pdf`.

    Raises:
        InputError: no evidence, or unknown run.
        LedgerDamaged: the ledger differs from its signed checkpoint.
        EvidenceDamaged: the evidence differs from the ledger.
        LedgerUnwritable: the report could not be logged and was not written.
        OscalInvalid: an OSCAL document is invalid; nothing was written.
    """
    _require_whole(ledger)
    _complete_drafts(reports, ledger)
    run = load_run(evidence, run_id or _newest_run(evidence), LedgerReader(ledger.directory))
    recorded = {record.evidence.check_id for record in run.records}
    names = {current: former for former, current in (former_ids or {}).items() if former in recorded}
    pack = pack.without_absent(without_target(run.records, lambda digest: read_raw(evidence, digest)))
    pack, exceptions = pack.with_check_ids(names), (exceptions or Exceptions()).with_check_ids(names)
    checkpoint = ledger.checkpoint()
    assessment = assess(pack, run.records, on=generated.date(), at=generated, exceptions=exceptions)
    terms = replace((terms or Terms()).with_check_ids(names), first_failed=_first_failed(ledger))
    logged = [*(record.leaf_index for record in run.records), *(each.leaf_index for each in foreign)]
    document = build_document(
        assessment,
        run,
        subject=subject,
        checkpoint=checkpoint,
        vkey=LedgerReader(ledger.directory).vkey_text().strip(),
        proofs=ledger.inclusion_proofs(logged),
        generated=f"{generated:%Y-%m-%dT%H:%M:%SZ}",
        tool_version=tool_version,
        figures=draw(run, lambda digest: read_raw(evidence, digest)) if draw else (),
        poam=plan_of_action([assessment], on=generated.date(), terms=terms),
        foreign=foreign,
        waiver_policy=exceptions.policy.model_dump(mode="json") if exceptions.policy else None,
    )
    folder = _free_folder(reports, run.run_id)
    draft = reports / f".{folder.name}.{os.getpid()}.new"
    try:
        record = _write_draft(draft, document, run, evidence, foreign, pdf=pdf) | {"folder": folder.name}
        leaf_index = ledger.append([record])[0]
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    _finish(draft, folder, ledger, record, leaf_index, since=checkpoint.size)
    return Published(folder, document, leaf_index)


def _first_failed(ledger: Ledger) -> Mapping[tuple[str, str], date]:
    """Return the day of the first failure by check and target, from all runs in the ledger."""
    leaves = (e.record for e in LedgerReader(ledger.directory).entries() if b'"type":"evidence"' in e.data)
    return History.of(leaf for leaf in leaves if leaf.get("type") == "evidence").first_failed


def _finish(
    draft: Path, folder: Path, ledger: Ledger, record: Mapping[str, Any], leaf_index: int, *, since: int
) -> None:
    """Add the proof of the ledger entry, and rename the folder. Repeatable after a crash."""
    write_atomic(draft / "report.tlog-proof", tlog_proof(ledger, record, leaf_index, since=since))
    draft.rename(folder)
    sync_folder(folder.parent)


def _complete_drafts(reports: Path, ledger: Ledger) -> None:
    """Complete the drafts of killed runs that are in the ledger, and remove the others."""
    drafts = {_digest(path / "report.json"): path for path in reports.glob(".*.new")}
    if drafts:
        for entry in LedgerReader(ledger.directory).entries():
            record = entry.record if b'"type":"report"' in entry.data else {}
            folder = reports / Path(str(record.get("folder", ""))).name
            if record.get("type") == "report" and record.get("report_sha256") in drafts and not folder.exists():
                draft = drafts.pop(record["report_sha256"])
                since = json.loads((draft / "report.json").read_bytes())["ledger"]["size"]
                _finish(draft, folder, ledger, record, entry.leaf_index, since=since)
    for path in drafts.values():
        shutil.rmtree(path, ignore_errors=True)


def _digest(path: Path) -> str:
    try:
        return sha256_hex(path.read_bytes())
    except OSError:
        return str(path)  # never equal to a digest


def tlog_proof(ledger: Ledger, record: Mapping[str, Any], leaf_index: int, *, since: int) -> str:
    """Return the proof that `record` is in the ledger (C2SP tlog-proof), and that the ledger extends its size `since`.

    The `extra` line has the record of the leaf and the consistency proof. The line is not signed, and need not be: a
    verifier checks both against the checkpoint.
    """
    checkpoint: Checkpoint = ledger.checkpoint()
    extra = {"record": dict(record), "consistency": _base64_lines(ledger.consistency_proof(since))}
    lines = [
        "c2sp.org/tlog-proof@v1",
        f"extra {base64.b64encode(canonical_json(extra)).decode()}",
        f"index {leaf_index}",
        *_base64_lines(ledger.inclusion_proof(leaf_index)),
    ]
    return "\n".join(lines) + "\n\n" + checkpoint.text


def _require_whole(ledger: Ledger) -> None:
    """Verify every entry, because opening a ledger verifies only its index."""
    for finding in verify_ledger(ledger.directory).findings:
        raise LedgerDamaged(
            finding.message, where=str(ledger.directory), hint="list all findings with `sovctl audit verify`"
        )


def _newest_run(evidence: Path) -> str:
    runs = list_runs(evidence)
    if not runs:
        raise InputError("no evidence found", where=str(evidence), hint="run `sovctl verify` first")
    return runs[-1]


def _free_folder(reports: Path, run_id: str) -> Path:
    reports.mkdir(mode=0o750, parents=True, exist_ok=True)
    folder, number = reports / run_id, 1
    while folder.exists():
        number += 1
        folder = reports / f"{run_id}.{number}"
    return folder


def _write_draft(
    draft: Path,
    document: Mapping[str, Any],
    run: EvidenceRun,
    evidence: Path,
    foreign: Sequence[ForeignImport],
    *,
    pdf: bool,
) -> dict[str, Any]:
    """Write all files except the proof durably, and return the ledger record of the report."""
    digests = {record.evidence.raw_sha256 for record in run.records}
    content = artifacts(document, digests, foreign, pdf=pdf)
    raw = {f"raw/{digest}": read_raw(evidence, digest) for digest in digests}
    write_many({draft / name: value for name, value in (content | raw).items()})
    return {
        "type": "report",
        "run_id": run.run_id,
        "report_sha256": sha256_hex(content["report.json"]),
        "html_sha256": sha256_hex(content["report.html"]),
        "verifier_sha256": sha256_hex(content[FILE_NAME]),
        "files": {name: sha256_hex(value) for name, value in content.items()},
        "pack": document["pack"]["name"],
        "decided": document["summary"]["decided"],
        "total": document["summary"]["total"],
        "simulated": document["simulated"],
    }


def _base64_lines(hashes: Sequence[bytes]) -> list[str]:
    return [base64.b64encode(value).decode() for value in hashes]
