"""certificate.node-lasts: the certificate of the node is of the site's authority and valid for at least seven days."""

from __future__ import annotations

from collections.abc import Iterator

from ....resources.credential import TLS, credentials_on
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._certificates import Expected, authorities, lifetime_findings, parse_certificate


class NodeLasts(Check[Expected]):
    id, version, method = "certificate.node-lasts", 1, Method.EXAMINE
    title = "the node's certificate is valid and of the site's authority"
    controls = ("ia-5.2", "sc-12", "sc-17")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`, which renew certificates 30 days before they end"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node with a certificate."""
        if any(each.path == f"{TLS}/node.pem" for each in credentials_on(site.context, node)):
            yield Expected(today=site.today)

    def probe(self, expected: Expected) -> Probe:
        """Print the certificates, which are public."""
        return Probe.of(certificate=f"cat {TLS}/node.pem", authority=f"cat {TLS}/ca.pem")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail within seven days before the expiry, warn within 30."""
        sections = parse_sections(output)
        certificate = parse_certificate(sections.text("certificate"), "node.pem")
        issuers = authorities(sections.text("certificate"), sections.text("authority"))
        last = certificate.not_valid_after_utc.date()
        findings = lifetime_findings(certificate, issuers, expected)
        return worst(findings, otherwise=f"expected a valid certificate, got one until {last}")
