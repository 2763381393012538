"""gateway.audit-record-per-request: the audit ledger has each record of a request once, without the request's text."""

from __future__ import annotations

from ....resources.gateway.service import DATA
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import Probe, ProbeOutput
from ...probes.commands import GATEWAY_PYTHON
from ._gateway_check import Expected, GatewayCheck, gateway_request, single_row

_RECORDS = ("gateway.request", "gateway.answer")
"""Types of the records that the gateway writes before it sends a request, and before the answer's last byte."""


class AuditRecordPerRequest(GatewayCheck):
    id, version, method = "gateway.audit-record-per-request", 1, Method.TEST
    title = "the audit ledger records an answered request once, without its text"
    controls = ("au-12", "au-2", "au-3")
    severity = Severity.CRITICAL
    remedy = "stop the gateway; free space of the ledger, and read `journalctl -u sovctl-gateway`"

    def probe(self, expected: Expected) -> Probe:
        """Send a request and search for its records, with the gateway's interpreter, which can parse the ledger."""
        model, task = expected.models[0], expected.tasks[0]
        return gateway_request(expected, "record", model, task, f"{DATA}/ledger", interpreter=GATEWAY_PYTHON)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the ledger has exactly one record of each type, and no entry has the text of the request."""
        row = single_row(output)
        if row.get("status") != 200 or not row.get("request_id"):
            return unknown("an answered request with an id", f"status {row.get('status')}")
        records, texts = row.get("records"), row.get("texts")
        if not isinstance(records, dict) or not isinstance(texts, int):
            return unknown("counts of records and of entries with the text", "none")
        findings = [
            failed(f"1 record {record_type} of the request", str(records.get(record_type, 0)))
            for record_type in _RECORDS
            if records.get(record_type, 0) != 1
        ]
        if texts:
            findings.append(failed("no text of the request in the ledger", f"{texts} entries with the text"))
        return worst(
            findings,
            otherwise=f"expected 1 record each of {' and '.join(_RECORDS)}, got one each, without the request's text",
        )
