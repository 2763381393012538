"""pool.unauthenticated-paths-closed: paths that the API key does not protect require a client certificate."""

from __future__ import annotations

from ...model.check import Judgement, Method, ProbeOutput, worst
from ...model.probe_sections import parse_sections
from ._mutual_tls import UNAUTHENTICATED_PATHS, MutualTlsCheck, control_failure, parse_responses, rejection
from ._replicas import Expected


class UnauthenticatedPathsClosed(MutualTlsCheck):
    id, version, method = "pool.unauthenticated-paths-closed", 1, Method.TEST
    title = "paths that the server's API key does not guard are closed without a client certificate"
    controls = ("ac-14", "ac-3", "cm-7")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if requests of these paths without a client certificate are rejected."""
        responses = parse_responses(parse_sections(output).text("doors"))
        if failure := control_failure(responses):
            return failure
        findings = [rejection(responses, "no-certificate", path) for path in UNAUTHENTICATED_PATHS]
        return worst(findings, otherwise=f"expected {', '.join(UNAUTHENTICATED_PATHS)} closed, got no answer from any")
