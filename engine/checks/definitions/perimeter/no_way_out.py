"""perimeter.no-way-out: root on a node cannot reach any address outside the perimeter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Probe, ProbeOutput, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import parse_sections, script
from .._probe_commands import python_command
from ._attempts import Endpoint, blocked_findings, exception_endpoints, parse_attempts

_INTERNET = Endpoint("192.0.2.1", 443)
"""An address of TEST-NET-1 (RFC 5737), which is assigned to no host. A packet to it must not leave the node."""
_OTHER_PORTS = (9, 80, 22)
"""Candidates for another port of the first exception's address, in this order. 9: discard, RFC 863."""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Endpoints that root must not reach."""

    endpoints: tuple[Endpoint, ...]


class NoWayOut(Check[Expected]):
    id, version, method = "perimeter.no-way-out", 1, Method.TEST
    title = "the node blocks connections to addresses outside the perimeter"
    controls = ("ac-4", "sc-7", "sc-7.5")

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Every node: the exceptions, because root may not use them; another port of the first; the internet."""
        endpoints = exception_endpoints(site)
        other_port = [
            Endpoint(endpoints[0].address, port)
            for port in _OTHER_PORTS
            if endpoints and Endpoint(endpoints[0].address, port) not in endpoints
        ]
        yield Expected(endpoints=(*endpoints, *other_port[:1], _INTERNET))

    def probe(self, expected: Expected) -> Probe:
        """Attempt to reach every endpoint as root."""
        return Probe(script(root=python_command("egress", *map(str, expected.endpoints))))

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every attempt was stopped on the node."""
        attempts = parse_attempts(parse_sections(output).text("root"), expected.endpoints)
        findings = [each for attempt in attempts for each in blocked_findings(attempt, "root")]
        results = ", ".join(f"{each.endpoint} {each.udp}" for each in attempts)
        return worst(findings, otherwise=f"expected every attempt blocked on the node, got {results}")
