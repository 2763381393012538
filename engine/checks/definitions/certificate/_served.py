"""Probe and judge of the checks of certificates that servers present."""

from __future__ import annotations

import shlex

from ....resources.credential import TLS
from ...model.check import Check, Judgement, failed, worst
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._certificates import Expected, authorities, lifetime_findings, parse_certificate

_PROGRAM = (
    "import socket, ssl, sys; socket.setdefaulttimeout(10); "
    "print(ssl.get_server_certificate((sys.argv[1], int(sys.argv[2]))))"
)


class ServedCertificateCheck(Check[Expected]):
    """A server can present an older certificate than that of its file; a subclass names the servers."""

    def probe(self, expected: Expected) -> Probe:
        """Print the certificate that the server presents, and the file of the node."""
        served = shlex.join(["python3", "-I", "-B", "-c", _PROGRAM, expected.address, str(expected.port)])
        return Probe.of(served=served, certificate=f"cat {TLS}/node.pem", authority=f"cat {TLS}/ca.pem")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the presented certificate is that of the file, and valid."""
        sections = parse_sections(output)
        served = parse_certificate(sections.text("served"), "TLS server")
        file = parse_certificate(sections.text("certificate"), "node.pem")
        issuers = authorities(sections.text("certificate"), sections.text("authority"))
        findings = list(lifetime_findings(served, issuers, expected))
        if served.serial_number != file.serial_number:
            findings.append(failed("the certificate of node.pem", "another one; the server has not read the file"))
        last = served.not_valid_after_utc.date()
        return worst(findings, otherwise=f"expected a valid certificate on port {expected.port}, got one until {last}")
