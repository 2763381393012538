"""gateway.rejects-without-key: requests without a valid API key receive status 401."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import Probe, ProbeOutput
from ._gateway_check import Expected, GatewayCheck, gateway_request, rows

_REJECTED = ("no key", "wrong key", "models without key")
_UNAUTHORIZED = 401


class RejectsWithoutKey(GatewayCheck):
    id, version, method = "gateway.rejects-without-key", 1, Method.TEST
    title = "the gateway rejects requests without a valid API key"
    controls = ("ac-14", "ac-3", "ia-9")
    severity = Severity.CRITICAL
    remedy = "stop the gateway; compare its configuration with the plan, then run `sovctl apply`"

    def probe(self, expected: Expected) -> Probe:
        """Send requests without a key and with a wrong one; `/healthz` is the control."""
        return gateway_request(expected, "unauthenticated", expected.models[0], has_key=False)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every request has status 401, and `/healthz` 200, which proves that the gateway responds."""
        status = {str(row.get("case")): row.get("status") for row in rows(output)}
        if status.get("healthz") != 200:
            return unknown("status 200 from /healthz as a control", str(status.get("healthz", "none")))
        findings: list[Judgement] = []
        for case in _REJECTED:
            if case not in status:
                findings.append(unknown(f"a status with {case}", "none"))
            elif status[case] != _UNAUTHORIZED:
                findings.append(failed(f"status {_UNAUTHORIZED} with {case}", str(status[case])))
        return worst(
            findings, otherwise=f"expected {_UNAUTHORIZED} for {', '.join(_REJECTED)}, got {_UNAUTHORIZED} for all"
        )
