"""fabric.errors-zero: no port of the fabric counted link errors since its counters were cleared.

`LinkDownedCounter`, `LocalLinkIntegrityErrors` and `ExcessiveBufferOverrunErrors` are FAIL for any count (NVIDIA/
NVSentinel docs/nic-health-monitor.md, read 2026-11-20). The others are WARN, because their meaning depends on the time
since the last clear, which the tool does not print. Counters of congestion, such as `PortXmitWait`, are ignored.

The threshold file of the node is replaced by an empty one, because thresholds hide errors.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.fabric.counters import parse_ibqueryerrors
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import FABRIC_ERRORS
from ._fabric_check import Expected

FATAL = frozenset({"LinkDownedCounter", "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors"})
IGNORED = frozenset(
    {"PortXmitWait", "PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts", "PortRcvSwitchRelayErrors"}
)
_FOUND_ERRORS = 1  # exit code of ibqueryerrors


class ErrorsZero(Check[Expected]):
    id, version, method = "fabric.errors-zero", 1, Method.TEST
    title = "no port of the fabric has counted link errors"
    controls = ("si-13", "si-4")
    severity = Severity.MEDIUM
    remedy = "clean or replace the cable between both ends, clear their counters with `perfquery -R`, and measure again"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this once, on the node that can query the fabric."""
        fabric = site.context.spec.fabric
        if fabric is not None and fabric.probe_node == node.name:
            yield Expected()

    def probe(self, expected: Expected) -> Probe:
        """Query the error counters of all ports."""
        return Probe.of(errors=FABRIC_ERRORS)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail for counters of `FATAL`, warn for others. A port that returned no counters is UNKNOWN."""
        section = parse_sections(output).section("errors")
        if section.exit_code not in (0, _FOUND_ERRORS):
            raise Unreadable("exit code 0 or 1 of ibqueryerrors", str(section.exit_code), where="probe")
        found = parse_ibqueryerrors(section.text)
        if section.exit_code == _FOUND_ERRORS and not found.errors:
            raise Unreadable("ports with errors after exit code 1", "none", where="ibqueryerrors", is_description=True)
        findings = []
        if found.ports == 0:
            findings.append(unknown("checked ports", "none"))
        if found.hidden:
            findings.append(unknown("no thresholds and no suppressed counters", found.hidden))
        if found.failures:
            findings.append(unknown("counters of all ports", f"{found.failures} ports without an answer"))
        for port in found.errors:
            for name, value in port.counters.items():
                if value and name not in IGNORED:
                    verdict = failed if name in FATAL else warned
                    findings.append(verdict(f"{name} 0 on {port.link}", str(value)))
        return worst(findings, otherwise=f"expected no link errors, got none on {found.ports} ports")
