"""gateway.answers: the gateway answers a request for every model name of the first client, by the task of its pool."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import Probe, ProbeOutput
from ._gateway_check import Expected, GatewayCheck, gateway_request, rows


class GatewayAnswers(GatewayCheck):
    id, version, method = "gateway.answers", 1, Method.TEST
    title = "the gateway answers a request for every model name"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = "read `journalctl -u sovctl-gateway` on the node, and the verdicts of the pools"

    def probe(self, expected: Expected) -> Probe:
        """Send one request for every model name: a chat, an embedding, a ranking or a transcription."""
        pairs = zip(expected.models, expected.tasks, strict=True)
        return gateway_request(expected, "answers", *(word for pair in pairs for word in pair))

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every answer has status 200 and is complete."""
        by_model = {str(row.get("model")): row for row in rows(output)}
        findings: list[Judgement] = []
        for model in expected.models:
            row = by_model.get(model)
            if row is None:
                findings.append(unknown(f"an answer from {model}", "none"))
            elif row.get("status") != 200 or row.get("has_answer") is not True:
                answer = "a complete" if row.get("has_answer") else "no complete"
                got = f"status {row.get('status')} and {answer} answer"
                findings.append(failed(f"status 200 and a complete answer from {model}", got))
        upstreams = [f"{model} from {by_model[model].get('route')}" for model in expected.models if model in by_model]
        return worst(
            findings, otherwise=f"expected answers from {len(expected.models)} models, got {', '.join(upstreams)}"
        )
