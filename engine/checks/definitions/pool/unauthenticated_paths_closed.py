"""pool.unauthenticated-paths-closed: paths that the API key does not protect require a client certificate."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, worst
from ...model.probe import ProbeOutput
from ...probes.mutual_tls import control_failure, rejection, responses_of
from ._mutual_tls import UNAUTHENTICATED_PATHS, MutualTlsCheck
from ._replicas import Expected


class UnauthenticatedPathsClosed(MutualTlsCheck):
    id, version, method = "pool.unauthenticated-paths-closed", 2, Method.TEST
    title = "endpoints that the API key does not protect require a client certificate"
    controls = ("ac-14", "ac-3", "cm-7")
    severity = Severity.CRITICAL
    remedy = "run `sovctl plan` and `sovctl apply`; stop the server if the path stays open"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if requests of these paths without a client certificate are rejected."""
        responses = responses_of(output)
        if failure := control_failure(responses):
            return failure
        findings = [rejection(responses, "no-certificate", path) for path in UNAUTHENTICATED_PATHS]
        return worst(
            findings,
            otherwise=f"expected {len(UNAUTHENTICATED_PATHS)} paths rejected without a certificate, got all rejected",
        )
