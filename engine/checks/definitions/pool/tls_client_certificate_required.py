"""pool.tls-client-certificate-required: the pool responds only over TLS with a client certificate."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, worst
from ...model.probe import ProbeOutput
from ...probes.mutual_tls import CONTROL_PATH, control_failure, rejection, responses_of
from ._mutual_tls import MutualTlsCheck
from ._replicas import Expected


class TlsClientCertificateRequired(MutualTlsCheck):
    id, version, method = "pool.tls-client-certificate-required", 1, Method.TEST
    title = "the pool requires TLS with a client certificate"
    controls = ("ac-3", "ia-9", "sc-8", "sc-8.1")
    severity = Severity.CRITICAL
    remedy = "run `sovctl plan` and `sovctl apply`; a server without client certificates must not run"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if connections without a client certificate and in plain HTTP are rejected."""
        responses = responses_of(output)
        if failure := control_failure(responses):
            return failure
        findings = [rejection(responses, connection, CONTROL_PATH) for connection in ("no-certificate", "plain")]
        return worst(
            findings,
            otherwise="expected responses with a client certificate only, got none without it or in plain HTTP",
        )
