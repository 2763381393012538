"""The gateway: it answers those with a key and nobody else, seals what it keeps, and writes down every request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...facts.unreadable import Unreadable
from ...spec.types import Secret
from ..model.check import Expectation, Judgement, ProbeOutput, failed, unknown, worst
from ..model.probe_sections import read_parts

REJECTED = ("no key", "wrong key", "models without key")
UNAUTHORIZED = 401
RECORDS = ("gateway.request", "gateway.answer")
"""What gateway/audit/records.py writes of every request that is answered."""


@dataclass(frozen=True, kw_only=True)
class GatewayExpectation(Expectation):
    """One gateway node, seen by one client of site.yaml.

    Args:
        url: of the gateway on this node.
        models: names that the client may ask for.
        cloud_model: one of them that prefers a cloud, so that its identifiers are tokenized; None when none does.
        key: reference to the client's key; the value goes to the probe's standard input.
    """

    url: str
    models: tuple[str, ...]
    cloud_model: str | None
    key: Secret


@dataclass(frozen=True, kw_only=True)
class LeavingExpectation(Expectation):
    """A gateway node that tries its own policy and key on a specimen of every kind.

    Args:
        config: settings file on the node.
    """

    config: str


def judge_leaving(output: ProbeOutput, _expectation: LeavingExpectation) -> Judgement:
    """The gateway's own check `leaving`: of every kind that policy tokenizes, only a token is in the body."""
    part = read_parts(output).part("check")
    try:
        rows = {str(row["check"]): row for row in json.loads(part.text)}
        verdict, detail = str(rows["leaving"]["verdict"]), str(rows["leaving"]["detail"])
    except (ValueError, KeyError, TypeError):
        raise Unreadable("the document of the gateway's `check --json`", part.text, where="gateway") from None
    if verdict == "FAIL":
        return failed("only tokens in what would leave", detail)
    if verdict != "PASS" or not detail or part.exit_code != 0:
        return unknown("every check of the gateway passed", detail if part.exit_code == 0 else f"exit {part.exit_code}")
    return worst((), otherwise=f"expected only tokens in what would leave, got: {detail}")


def judge_answers(output: ProbeOutput, expectation: GatewayExpectation) -> Judgement:
    """A chat with every model name that the client may use gives an answer with text."""
    rows = {str(row.get("model")): row for row in _rows(output)}
    findings: list[Judgement] = []
    for model in expectation.models:
        row = rows.get(model)
        if row is None:
            findings.append(unknown(f"an answer of {model}", "none"))
        elif row.get("status") != 200 or row.get("has_text") is not True:
            text = "with" if row.get("has_text") else "without"
            findings.append(failed(f"status 200 and text from {model}", f"status {row.get('status')} {text} text"))
    times = ", ".join(f"{model} by {rows[model].get('route')}" for model in expectation.models if model in rows)
    return worst(findings, otherwise=f"expected answers of {len(expectation.models)} models, got {times}")


def judge_rejects(output: ProbeOutput, _expectation: GatewayExpectation) -> Judgement:
    """Without a key, or with a wrong one, there is 401 and nothing else."""
    status = {str(row.get("case")): row.get("status") for row in _rows(output)}
    if status.get("healthz") != 200:
        return unknown("/healthz to answer 200, so that a refusal means something", str(status.get("healthz", "none")))
    findings: list[Judgement] = []
    for case in REJECTED:
        if case not in status:
            findings.append(unknown(f"an attempt with {case}", "none"))
        elif status[case] != UNAUTHORIZED:
            findings.append(failed(f"status {UNAUTHORIZED} with {case}", str(status[case])))
    return worst(findings, otherwise=f"expected {UNAUTHORIZED} for {', '.join(REJECTED)}, got it for each")


def judge_vault(output: ProbeOutput, expectation: GatewayExpectation) -> Judgement:
    """Identifiers that were just tokenized are in the vault, and cannot be read there."""
    row = _one(output)
    if row.get("status") != 200 or row.get("route") != "cloud":
        return unknown(
            f"a tokenized request of {expectation.cloud_model}",
            f"status {row.get('status')} by {row.get('route')}, so nothing was sealed",
        )
    before, after, copies = row.get("rows_before"), row.get("rows_after"), row.get("copies")
    if not isinstance(before, int) or not isinstance(after, int) or not isinstance(copies, int):
        return unknown("counts of rows and of readable copies", "none")
    findings: list[Judgement] = []
    if after <= before:
        findings.append(unknown(f"more than {before} rows after the request", str(after)))
    if copies:
        findings.append(failed("0 readable copies of the identifiers in the vault's files", str(copies)))
    if not isinstance(row.get("open_files"), list):
        findings.append(unknown("permissions of the vault's files", "none"))
    findings += [failed(f"{file} closed to others", "readable") for file in row.get("open_files") or ()]
    return worst(
        findings, otherwise=f"expected the identifiers sealed, got {after - before} more rows, no readable copy"
    )


def judge_record(output: ProbeOutput, _expectation: GatewayExpectation) -> Judgement:
    """A request that was answered has one record before it left and one before the answer ended, and no text in any."""
    row = _one(output)
    if row.get("status") != 200 or not row.get("request_id"):
        return unknown("an answered request with an id", f"status {row.get('status')}")
    records, texts = row.get("records"), row.get("texts")
    if not isinstance(records, dict) or not isinstance(texts, int):
        return unknown("counts of records and of texts in them", "none")
    findings = [
        failed(f"1 record {kind} of the request", str(records.get(kind, 0)))
        for kind in RECORDS
        if records.get(kind, 0) != 1
    ]
    if texts:
        findings.append(failed("no text of the request in the ledger", f"{texts} entries with it"))
    return worst(findings, otherwise=f"expected 1 record each of {' and '.join(RECORDS)}, got that, without its text")


def _one(output: ProbeOutput) -> dict[str, Any]:
    rows = list(_rows(output))
    if len(rows) != 1:
        raise Unreadable("one answer", f"{len(rows)}", where="ask", in_our_words=True)
    return rows[0]


def _rows(output: ProbeOutput) -> Iterator[dict[str, Any]]:
    """JSON lines of `probe_scripts/ask.py`; an error it names stops the reading."""
    for line in read_parts(output).text("ask").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            raise Unreadable("JSON lines", line, where="ask") from None
        if not isinstance(row, dict):
            raise Unreadable("JSON objects", line, where="ask")
        if "error" in row:
            raise Unreadable("an answer of the gateway", str(row["error"]), where="ask")
        yield row
