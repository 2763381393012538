"""Verifies the folder of one report: checkpoint, evidence, controls, its ledger entry, and completeness.

The states of all controls are computed again from the evidence, as of the day of the report. Formats: docs/formats.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from sovctl.support.errors import InputError, SovctlError
from sovctl.support.plain_json import decode_base64, plain_json, sha256_hex

from ..evidence.completeness import population_problems, record_problems
from ..evidence.layout import declared_targets, is_sha256, leaf_of
from ..ledger.checkpoint import Checkpoint
from ..ledger.merkle import leaf_hash
from ..ledger.proof import verify_consistency, verify_inclusion
from ..verify_key import VerifyKey, parse_vkey
from .audited_report import AuditedReport, Wrong
from .control_states import STATES, decide, sentence
from .files import MAX_DOCUMENT_BYTES, content, file_names, file_sha256, irregular, parse_object
from .foreign_results import verify_foreign_results
from .oscal_documents import FOLDER as OSCAL_FOLDER
from .oscal_documents import oscal_problems
from .result import AuditResult
from .signatures import FILE as SIGNATURE_FILE
from .signatures import FOLDER as SIGNATURES
from .signatures import Signers, verify_signatures

FORMAT = "sovctl-report-v2"
_EARLIER = ("sovctl-report-v1",)
PROOF = "report.tlog-proof"
_ENTRY_FIELDS = {"report.json": "report_sha256", "report.html": "html_sha256"}  # entries without `files`
_FORMER_VERIFIER = "verify_report.py"
_NAME = re.compile(r"[0-9A-Za-z_-][0-9A-Za-z._-]*(/[0-9A-Za-z_-][0-9A-Za-z._-]*)*")


class NoReport(Exception):
    """The folder has no readable report."""


class EarlierFormat(NoReport):
    """The report has the format of an earlier release, whose records lack required fields."""


def verify_report(
    folder: Path,
    result: AuditResult,
    *,
    key: tuple[str, VerifyKey] | None = None,
    place: str = "",
    keys: Sequence[str] = (),
    signers: Signers = Signers(),
) -> list[Checkpoint]:
    """Run all checks of one report, and add the findings.

    Args:
        place: beginning of the file names in findings.
        key: name and public key of the ledger from a trusted source; None: the key in the folder.
        keys: further keys of the ledger as .vkey text, from before or after `key` in its chain of rotations.
        signers: keys of persons that must have signed the report.

    Returns:
        The checkpoints in the report with a valid signature, which the report proves to be consistent.

    Raises:
        NoReport: no report.json of this format.
    """
    data, document = _read_document(folder)
    report = AuditedReport(folder, data, document, folder.resolve().name, place, VerifyKey(b""), result, signers)
    limits = document.get("limits")
    result.limits += [str(limit) for limit in limits] if isinstance(limits, list) else []
    if key is None:
        result.limits.append(
            "The public key was read from this folder: the author of the report could have replaced it."
        )
    found: list[Checkpoint] = []
    try:
        name, own = parse_vkey(str(document["ledger"]["vkey"]))
        if key is not None and str(document["ledger"]["vkey"]) in keys:
            key = (name, own)
        if key is not None and key != (name, own):
            report.find("the key you gave: expected the report's, got another", "log.vkey")
        report.key = key[1] if key else own
    except (SovctlError, KeyError, TypeError) as error:
        report.find(f"log.vkey: {error}", "log.vkey")
        return found
    for step in (
        _verify_signature,
        _verify_evidence,
        verify_foreign_results,
        _verify_controls,
        _verify_oscal,
        _verify_logged,
    ):
        try:
            found += step(report)
        except Wrong as wrong:
            report.find(str(wrong))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
            report.find(f"expected a whole report, found an invalid or missing field ({type(error).__name__})")
    return found


def read_report(folder: Path) -> dict[str, Any]:
    """Return report.json of a folder. It is not verified.

    Raises:
        InputError: no report of this format.
    """
    try:
        return _read_document(folder)[1]
    except NoReport as error:
        raise InputError(str(error), hint="give the folder of a report, such as .sovctl/reports/RUN") from None


def _read_document(folder: Path) -> tuple[bytes, dict[str, Any]]:
    where = folder / "report.json"
    data = content(where, limit_bytes=MAX_DOCUMENT_BYTES)
    if data is None:
        raise NoReport(f"{where}: expected a report, got no readable file of at most {MAX_DOCUMENT_BYTES >> 20} MiB")
    try:
        document = parse_object(data)
    except (ValueError, MemoryError) as error:
        raise NoReport(f"{where}: expected a report, got {error or 'too many values'}") from None
    if document.get("format") in _EARLIER:
        raise EarlierFormat(
            f"{where}: the report has the format of an earlier release, and its records do not count as evidence; "
            "run `sovctl verify` and `sovctl report`, or verify it with the sovctl-verify.pyz in its folder"
        )
    if document.get("format") != FORMAT:
        raise NoReport(f"{where}: expected the format {FORMAT}, got another")
    return data, document


def _verify_signature(report: AuditedReport) -> list[Checkpoint]:
    ledger = report.document["ledger"]
    for name, text in (("checkpoint", ledger["checkpoint"]), ("log.vkey", ledger["vkey"] + "\n")):
        if _text(report.folder / name) != text:
            report.find(f"{name}: expected the content of report.json, got another", name)
    checkpoint = report.open_checkpoint(ledger["checkpoint"])
    if (checkpoint.origin, checkpoint.size, checkpoint.root.hex()) != (
        ledger["origin"],
        ledger["size"],
        ledger["root"],
    ):
        report.find("ledger: expected the values of the checkpoint, got others")
    report.result.facts.append(
        f"{report.area}: checkpoint: {checkpoint.size} entries of {checkpoint.origin}, signature is valid"
    )
    return [checkpoint]


def _verify_evidence(report: AuditedReport) -> list[Checkpoint]:
    checkpoint = report.open_checkpoint(report.document["ledger"]["checkpoint"])
    seen: set[int] = set()
    populations = _verified_populations(report)
    for item in report.document["evidence"]:
        record, entry, index = item["record"], item["leaf"], item["leaf_index"]
        where = f"{record['check_id']} on {record['target']}"
        digest = sha256_hex(plain_json(record))
        if digest != item["sha256"]:
            report.find(f"{where}: expected a record with digest {item['sha256'][:16]}, got {digest[:16]}")
        for problem in record_problems(record):
            report.find(f"{where}: incomplete evidence: {problem}", first_index=index)
        if record["target"] not in populations[record["population_sha256"]]["sampled"]:
            report.find(f"{where}: the target is not in the sample of its population", first_index=index)
        if entry != leaf_of(record, digest, report.document["run"]["id"]):
            report.find(f"{where}: the ledger entry differs from the record", first_index=index)
        path = [decode_base64(value) for value in item["proof"]]
        leaf = leaf_hash(plain_json(entry))
        if not verify_inclusion(leaf, index, checkpoint.size, path, checkpoint.root) or index in seen:
            report.find(f"{where}: expected entry {index} of the ledger, got no proof of it", first_index=index)
        seen.add(index)
        raw = record["raw_sha256"]
        if not is_sha256(raw):
            raise Wrong(f"{where}: expected a SHA-256 digest as the name of its raw output")
        if file_sha256(report.folder / "raw" / raw) != raw:
            report.find(
                f"{where}: expected raw output {raw[:16]}, got none or another", f"raw/{raw}", first_index=index
            )
    report.result.facts.append(
        f"{report.area}: evidence: {len(seen)} records; fields, digests, raw output and inclusion were checked"
    )
    return []


def _verified_populations(report: AuditedReport) -> dict[str, dict[str, Any]]:
    """Return the populations by digest, after comparing them with their digests and their rules."""
    found: dict[str, dict[str, Any]] = report.document["populations"]
    for name, population in found.items():
        if sha256_hex(plain_json(population)) != name:
            report.find(f"populations: expected a population with digest {name[:16]}, got another")
        for problem in population_problems(population):
            report.find(f"population {name[:16]}: {problem}")
    if unused := found.keys() - {item["record"]["population_sha256"] for item in report.document["evidence"]}:
        report.find(f"populations: {min(unused)[:16]} belongs to no record")
    return found


def _verify_controls(report: AuditedReport) -> list[Checkpoint]:
    document = report.document
    by_check: dict[str, list[dict[str, Any]]] = {}
    for item in document["evidence"]:
        declared = {"population": declared_targets(document, item["record"])}
        by_check.setdefault(item["record"]["check_id"], []).append(item["record"] | declared)
    generated, ended = document["generated"], max((i["record"]["ended"] for i in document["evidence"]), default="")
    if generated[:19] < ended[:19]:  # both UTC, to the second; an earlier day could make a waiver count again
        report.find(f"generated: the time of the report, {generated}, is before the end of the evidence, {ended}")
    today, policy = date.fromisoformat(generated[:10]), document.get("waiver_policy")
    if policy:
        report.result.limits.append(f"{report.area}: the keys that approve waivers were read from the report.")
    states = dict.fromkeys(STATES, 0)
    for control in document["controls"]:
        state = decide(control, by_check, today, generated, policy)
        states[state] += 1
        if state != control["state"]:
            report.find(f"{control['id']}: expected {state} from the evidence, got {control['state']}")
        checks = control["mapping"]["checks"] if control["mapping"] else []
        simulated = any(record["simulated"] for check in checks for record in by_check.get(check, []))
        if simulated != control["simulated"]:
            report.find(f"{control['id']}: expected simulated {simulated}, got {control['simulated']}")
    summary, pack = document["summary"], document["pack"]
    expected = (states, sentence(states), len(document["controls"]))
    if (summary["states"], summary["sentence"], summary["total"]) != expected:
        report.find(f"summary: expected {sentence(states)!r}, got {summary['sentence']!r}")
    if document["simulated"] != any(item["record"]["simulated"] for item in document["evidence"]):
        report.find("simulated: expected the value of the evidence, got another")
    listed = [
        {name: control[name] for name in ("id", "title", "family", "mapping")} for control in document["controls"]
    ]
    values = {name: pack[name] for name in ("name", "title", "source", "licence")} | {"controls": listed}
    if sha256_hex(plain_json(values)) != pack["sha256"]:
        report.find(f"pack: expected the controls of {pack['name']} with digest {pack['sha256'][:16]}, got others")
    report.result.facts.append(f"{report.area}: controls: {sentence(states)}; computed again from the evidence")
    return []


def _verify_oscal(report: AuditedReport) -> list[Checkpoint]:
    number, problems = oscal_problems(report.folder, report.document)
    for problem in problems:
        report.find(f"{OSCAL_FOLDER}: {problem}", f"{OSCAL_FOLDER}/{problem.partition(':')[0]}")
    if number:
        report.result.facts.append(
            f"{report.area}: OSCAL: {number} documents; schema, references and digests were checked"
        )
    return []


def _verify_logged(report: AuditedReport) -> list[Checkpoint]:
    """Verify that this report is an entry of a log that extends the checkpoint of the report (C2SP tlog-proof)."""
    head, separator, text = _text(report.folder / PROOF).partition("\n\n")
    lines = head.split("\n")
    if not separator or lines[0] != "c2sp.org/tlog-proof@v1" or len(lines) < 3:
        raise Wrong(f"{PROOF}: expected a log proof, got none")
    try:
        extra, number = _extra(report.folder), _line(lines[2], "index")
        index, path = int(number) if number.isdecimal() else -1, [decode_base64(line) for line in lines[3:]]
        consistency = [decode_base64(value) for value in extra["consistency"]]
        entry = extra["record"]
        leaf = leaf_hash(plain_json(entry))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Wrong(f"{PROOF}: expected a log proof, got an invalid one") from None
    newest = report.open_checkpoint(text)
    if not verify_inclusion(leaf, index, newest.size, path, newest.root):
        raise Wrong(f"{PROOF}: expected the report to be entry {index} of the ledger, got no proof of it")
    old = report.open_checkpoint(report.document["ledger"]["checkpoint"])
    if not verify_consistency(old.size, old.root, newest.size, newest.root, consistency):
        raise Wrong(f"{PROOF}: expected a log that extends the report's checkpoint, got another")
    if entry.get("type") != "report" or entry.get("run_id") != report.document["run"]["id"]:
        report.find(f"{PROOF}: expected the entry of this report, got another", PROOF)
    _verify_files(report, entry, index)
    _verify_signed(report)
    report.result.facts.append(f"{report.area}: logged: this report is entry {index} of {newest.origin}")
    return [newest]


def _verify_files(report: AuditedReport, entry: dict[str, Any], index: int) -> None:
    """Check that the folder has exactly the files of its ledger entry, the proof, and the raw output of its records."""
    files = entry.get("files")
    if files is None:  # an entry of an earlier version
        files = {name: entry.get(field) for name, field in _ENTRY_FIELDS.items()}
        files |= {_FORMER_VERIFIER: entry.get("verifier_sha256")}
        files |= {name: file_sha256(report.folder / name) for name in ("checkpoint", "log.vkey")}
    for name, digest in sorted(files.items()):
        found = file_sha256(report.folder / name) if _NAME.fullmatch(name) else ""
        if not found:
            report.find(f"{name}: expected the content that was logged, got no file", name, first_index=index)
        elif found != digest:
            report.find(f"{name}: expected the content that was logged, got another", name, first_index=index)
    raw = {f"raw/{item['record']['raw_sha256']}" for item in report.document["evidence"]}
    links = {str(path.relative_to(report.folder)) for path in irregular(report.folder)}
    for name in sorted(links):
        report.find(f"{name}: expected a regular file, got a link or a special file", name)
    for name in sorted(set(file_names(report.folder)) - files.keys() - raw - links - {PROOF}):
        if not SIGNATURE_FILE.fullmatch(name):
            report.find(f"{name}: unknown file, not part of the report", name)


def signed_files(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file that a person signs: those of the ledger entry, and its proof.

    Raises:
        ValueError: the proof is unreadable.
    """
    files = _extra(folder)["record"].get("files")
    if not isinstance(files, dict):
        raise ValueError("the ledger entry has no list of files")
    return {str(name): str(digest) for name, digest in files.items()} | {PROOF: file_sha256(folder / PROOF)}


def _verify_signed(report: AuditedReport) -> None:
    if not report.signers.keys and not (report.folder / SIGNATURES).is_dir():
        return
    try:
        expected = signed_files(report.folder)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Wrong(f"{SIGNATURES}: the ledger entry of this report has no list of files to sign") from None
    problems, facts, limits = verify_signatures(report.folder, expected, report.signers)
    for file, problem in problems:
        report.find(problem, file)
    report.result.facts += [f"{report.area}: {fact}" for fact in facts]
    report.result.limits += [f"{report.area}: {limit}" for limit in limits]


def _extra(folder: Path) -> dict[str, Any]:
    """Return the content of the line `extra` of the proof.

    Raises:
        ValueError: the line is absent or invalid.
    """
    lines = _text(folder / PROOF).partition("\n\n")[0].split("\n")
    return parse_object(decode_base64(_line(lines[1] if len(lines) > 1 else "", "extra")))


def _line(line: str, name: str) -> str:
    head, _, value = line.partition(" ")
    if head != name:
        raise ValueError(f"no line {name}")
    return value


def _text(path: Path) -> str:
    try:
        return (content(path) or b"").decode()
    except UnicodeDecodeError:
        return ""
