"""perimeter.exception-only-from-gateway: only the gateway's user on gateway nodes can reach the exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from ....spec import Node
from ....spec.service_accounts import GATEWAY_USER
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import python_command
from ._attempts import Endpoint, blocked_findings, exception_endpoints, parse_attempts


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The exceptions of the perimeter, as one node may use them.

    Args:
        endpoints: every exception.
        is_gateway: True on a gateway node, where the gateway's user must reach them and root must not.
        expired: exceptions whose last day has passed; closed for the gateway's user too.
    """

    endpoints: tuple[Endpoint, ...]
    is_gateway: bool
    expired: tuple[Endpoint, ...] = ()


class ExceptionOnlyFromGateway(Check[Expected]):
    id, version, method = "perimeter.exception-only-from-gateway", 1, Method.TEST
    title = "only the gateway can reach the exceptions of the perimeter"
    controls = ("ac-4", "sc-7", "sc-7.5")
    severity = Severity.CRITICAL
    remedy = "compare `perimeter.exceptions` with the ruleset, then run `sovctl plan` and `sovctl apply`"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node of a site with exceptions."""
        if endpoints := exception_endpoints(site):
            expired = [
                Endpoint(str(each.address), each.port)
                for each in site.context.spec.perimeter.exceptions
                if date.fromisoformat(str(each.expires)) < site.today
            ]
            yield Expected(endpoints=endpoints, is_gateway=site.context.is_gateway(node), expired=tuple(expired))

    def probe(self, expected: Expected) -> Probe:
        """Attempt to reach the exceptions as root, and on a gateway node also as the gateway's user."""
        endpoints = [str(each) for each in expected.endpoints]
        commands = {"root": python_command("egress", *endpoints)}
        if expected.is_gateway:
            commands["gateway"] = python_command("egress", *endpoints, user=GATEWAY_USER)
        return Probe.of(**commands)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if root reaches no exception, and the gateway's user reaches all except expired ones."""
        sections = parse_sections(output)
        findings: list[Judgement] = []
        for attempt in parse_attempts(sections.text("root"), expected.endpoints):
            findings += blocked_findings(attempt, "root")
        if expected.is_gateway:
            for attempt in parse_attempts(sections.text("gateway"), expected.endpoints):
                if attempt.endpoint in expected.expired:
                    findings += blocked_findings(attempt, "the gateway (expired exception)")
                elif attempt.tcp != "connected":
                    findings.append(failed(f"{attempt.endpoint} reachable for the gateway", attempt.tcp))
        names = ", ".join(map(str, expected.endpoints))
        return worst(
            findings,
            otherwise=f"expected {names} reachable for the gateway's user only, got root blocked"
            if expected.is_gateway
            else f"expected {names} blocked on this node, got blocked",
        )
