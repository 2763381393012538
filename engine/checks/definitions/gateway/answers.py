"""gateway.answers: the gateway answers a chat request for every model name of the first client."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import Probe, ProbeOutput
from ._gateway_check import Expected, GatewayCheck, gateway_request, rows


class GatewayAnswers(GatewayCheck):
    id, version, method = "gateway.answers", 1, Method.TEST
    title = "the gateway answers a chat request for every model name"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = "read `journalctl -u sovctl-gateway` on the node, and the verdicts of the pools"

    def probe(self, expected: Expected) -> Probe:
        """Send one chat request for every model name."""
        return gateway_request(expected, "chat", *expected.models)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every answer has status 200 and text."""
        by_model = {str(row.get("model")): row for row in rows(output)}
        findings: list[Judgement] = []
        for model in expected.models:
            row = by_model.get(model)
            if row is None:
                findings.append(unknown(f"an answer from {model}", "none"))
            elif row.get("status") != 200 or row.get("has_text") is not True:
                text = "with" if row.get("has_text") else "without"
                findings.append(failed(f"status 200 and text from {model}", f"status {row.get('status')} {text} text"))
        upstreams = [f"{model} from {by_model[model].get('route')}" for model in expected.models if model in by_model]
        return worst(
            findings, otherwise=f"expected answers from {len(expected.models)} models, got {', '.join(upstreams)}"
        )
