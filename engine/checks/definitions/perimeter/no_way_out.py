"""perimeter.no-way-out: root on a node can neither reach nor look up any host outside the perimeter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import python_command
from ._attempts import Endpoint, blocked_findings, exception_endpoints, parse_attempts, parse_names

_INTERNET = (Endpoint("192.0.2.1", 443), Endpoint("192.0.2.1", 53), Endpoint("2001:db8::1", 443))
"""Addresses for documentation (RFC 5737, RFC 3849), assigned to no host. A packet to one must not leave the node.
Port 53: a rule for name servers may be too wide."""
_PUBLIC_NAMES = ("example.com",)
"""Name that every name server on the internet resolves (RFC 2606, 3). A site's own name server must not."""
_OTHER_PORTS = (9, 80, 22)
"""Candidates for another port of the first exception's address, in this order. 9: discard, RFC 863."""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Endpoints that root must not reach, and names that must not resolve."""

    endpoints: tuple[Endpoint, ...]
    names: tuple[str, ...] = _PUBLIC_NAMES


class NoWayOut(Check[Expected]):
    id, version, method = "perimeter.no-way-out", 2, Method.TEST
    title = "the node blocks connections to addresses outside the perimeter, and resolves no public name"
    controls = ("ac-4", "sc-7", "sc-7.5")
    severity = Severity.CRITICAL
    remedy = "find the open route with `nft list ruleset`, then run `sovctl plan` and `sovctl apply`"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Every node: the exceptions, because root may not use them; another port of the first; the internet."""
        endpoints = exception_endpoints(site)
        other_port = [
            Endpoint(endpoints[0].address, port)
            for port in _OTHER_PORTS
            if endpoints and Endpoint(endpoints[0].address, port) not in endpoints
        ]
        yield Expected(endpoints=(*endpoints, *other_port[:1], *_INTERNET))

    def probe(self, expected: Expected) -> Probe:
        """Attempt to reach every endpoint, and to resolve every name, as root."""
        reached = python_command("egress", *map(str, expected.endpoints))
        return Probe.of(root=reached, names=python_command("egress", *expected.names))

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every attempt was stopped on the node, and no name has an address."""
        sections = parse_sections(output)
        attempts = parse_attempts(sections.text("root"), expected.endpoints)
        findings = [each for attempt in attempts for each in blocked_findings(attempt, "root")]
        for name, addresses in parse_names(sections.text("names"), expected.names).items():
            if addresses:
                findings.append(failed(f"no address of {name} from the name servers", ", ".join(addresses)))
        results = ", ".join(f"{each.endpoint} {each.udp}" for each in attempts)
        return worst(findings, otherwise=f"expected every attempt blocked on the node, got {results}")
