"""certificate.key-fits: the private key of the node belongs to its certificate."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....resources.credential import TLS, credentials_on
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_PROGRAM = f"""import ssl
try:
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain("{TLS}/node.pem", "{TLS}/node.key")
    print("fits")
except ssl.SSLError as error:
    print("differs", error.reason)
"""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every node with a certificate."""


class KeyFits(Check[Expected]):
    id, version, method = "certificate.key-fits", 1, Method.TEST
    title = "the node's private key belongs to its certificate"
    controls = ("ia-5.2", "sc-12")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`, which write certificate and key together"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node with a certificate."""
        if any(each.path == f"{TLS}/node.key" for each in credentials_on(site.context, node)):
            yield Expected()

    def probe(self, expected: Expected) -> Probe:
        """Load both files with OpenSSL on the node; the key is not printed."""
        return Probe.of(pair=shlex.join(["python3", "-I", "-B", "-c", _PROGRAM]))

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if OpenSSL accepts the pair."""
        word, _, reason = parse_sections(output).text("pair").strip().partition(" ")
        if word not in ("fits", "differs"):
            raise Unreadable("fits or differs", word, where="ssl")
        findings = [] if word == "fits" else [failed("the key of the certificate", reason or "another key")]
        return worst(findings, otherwise="expected the key of the certificate, got it")
