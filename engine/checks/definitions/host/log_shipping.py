"""host.log-shipping: rsyslog runs, has a connection to the SIEM of site.yaml, and dropped no message since its start.

rsyslog counts messages that its full queue discarded (`impstats`). The journal of the node still has them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.units import parse_units
from ....facts.unreadable import MALFORMED, Unreadable
from ....resources.host.log_forwarding import STATISTICS, UNIT
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import show_units


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From `host.logs` of site.yaml."""

    address: str
    port: int


class LogShipping(Check[Expected]):
    id, version, method = "host.log-shipping", 2, Method.TEST
    title = "the system log reaches the SIEM"
    controls = ("au-4.1", "au-9.2")
    severity = Severity.HIGH
    remedy = "check that the SIEM accepts connections; `journalctl -u rsyslog` on the node has the cause"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node if site.yaml has `host.logs`."""
        logs = site.context.spec.host.logs
        if logs is not None:
            yield Expected(address=str(logs.address), port=logs.port)

    def probe(self, expected: Expected) -> Probe:
        """Print the unit, and its established connections to the SIEM with process."""
        peers = f"ss -Htnp state established dst {expected.address}:{expected.port}; echo end"
        statistics = f"tail -n 60 {STATISTICS} 2>/dev/null | grep -F sovctl-siem; echo end"
        return Probe.of(unit=show_units(UNIT), connections=peers, statistics=statistics)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if rsyslog runs and a connection of it is established."""
        sections = parse_sections(output)
        (unit, *_) = parse_units(sections.text("unit"))
        *lines, end = sections.text("connections").strip().splitlines() or [""]
        if end != "end":
            raise Unreadable("connections, then `end`", sections.text("connections"), where="ss -Htnp")
        findings = [] if unit.is_running else [failed("rsyslog running", f"{unit.load}, {unit.active}")]
        if not any('"rsyslogd"' in line and f"{expected.address}:{expected.port}" in line for line in lines):
            findings.append(failed(f"a connection of rsyslog to {expected.address}:{expected.port}", "none"))
        findings += _losses(sections.text("statistics"))
        return worst(findings, otherwise=f"expected a connection to {expected.address}:{expected.port}, got one")


def _losses(text: str) -> Iterator[Judgement]:
    """Yield a failure for each queue of the SIEM that discarded messages, by its newest line."""
    *lines, end = text.strip().splitlines() or [""]
    if end != "end":
        raise Unreadable("counters of rsyslog, then `end`", text, where=STATISTICS)
    discarded: dict[str, int] = {}
    for line in lines:
        try:
            row = json.loads(line[line.index("{") :])
            name, counts = str(row["name"]), [row.get(f"discarded.{each}", 0) for each in ("full", "nf")]
            discarded[name] = sum(map(int, counts))
        except (*MALFORMED, KeyError, TypeError):
            raise Unreadable("one JSON object", line, where=STATISTICS) from None
    if not discarded:
        yield unknown("counters of the queue to the SIEM", f"none in {STATISTICS}")
    for name, count in discarded.items():
        if count:
            yield failed(f"no message dropped by {name}", f"{count} since the start of rsyslog")
