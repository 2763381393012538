"""retrieval.client-certificate-required: the retrieval service responds only over TLS with a client certificate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....resources.credential import TLS
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...probes.commands import python_command
from ...probes.mutual_tls import CONTROL_PATH, control_failure, rejection, responses_of

_PATHS = ("/v1/search", "/v1/documents", "/v1/directory", "/metrics")


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From site.yaml.

    Args:
        address: of the service.
        port: of the service.
    """

    address: str
    port: int


class ClientCertificateRequired(Check[Expected]):
    id, version, method = "retrieval.client-certificate-required", 1, Method.TEST
    title = "the retrieval service requires TLS with a client certificate"
    controls = ("ac-3", "ia-9", "sc-8", "sc-8.1")
    severity = Severity.CRITICAL
    remedy = "run `sovctl plan` and `sovctl apply`; a service without client certificates must not run"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of the node of `retrieval`."""
        if site.context.is_retrieval(node):
            yield Expected(address=str(node.address), port=site.context.retrieval.port)

    def probe(self, expected: Expected) -> Probe:
        """Connect with the certificate of the node, without one, and in plain HTTP."""
        identity = (f"{TLS}/ca.pem", f"{TLS}/node.pem", f"{TLS}/node.key")
        command = python_command("mutual_tls", expected.address, str(expected.port), *identity, CONTROL_PATH, *_PATHS)
        return Probe({"ways": command}, timeout_s=120)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if connections without a client certificate and in plain HTTP are rejected."""
        responses = responses_of(output)
        if failure := control_failure(responses):
            return failure
        findings = [rejection(responses, connection, CONTROL_PATH) for connection in ("no-certificate", "plain")]
        findings += [rejection(responses, "no-certificate", path) for path in _PATHS]
        return worst(
            findings,
            otherwise="expected responses with a client certificate only, got none without it or in plain HTTP",
        )
