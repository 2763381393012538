"""host.time-zone: the node has the time zone UTC, or that of the schedules of site.yaml.

Logs of nodes with different zones do not compare, and timers run at other hours than planned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

# A file of time zones ends with the rule of its zone (tzfile(5)). Without the file the zone is UTC (localtime(5)).
_SCRIPT = """f=/etc/localtime
if [ -L $f ]; then echo "link $(readlink $f)"; elif [ -e $f ]; then echo "rule $(tail -n 1 $f)"; else echo none; fi
date +%z"""
_UTC = frozenset({"UTC", "UCT", "Universal", "Zulu", "GMT", "GMT0", "Greenwich", "GMT+0", "GMT-0"})
_UTC_RULES = frozenset({"UTC0", "GMT0"})
_OFFSET = re.compile(r"[+-]\d{4}")


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Permitted zones: UTC and `sizing.autoscaling.timezone`."""

    zones: tuple[str, ...]


class TimeZone(Check[Expected]):
    id, version, method = "host.time-zone", 1, Method.EXAMINE
    title = "the node has a planned time zone"
    controls = ("au-8", "cm-6")
    severity = Severity.LOW
    remedy = "run `timedatectl set-timezone UTC`, and restart the services that write logs"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected(zones=tuple(dict.fromkeys(("UTC", site.context.spec.sizing.autoscaling.timezone))))

    def probe(self, expected: Expected) -> Probe:
        """Print the zone, and its present difference from UTC."""
        return Probe.of(zone=_SCRIPT)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass for a permitted zone; UTC also needs the difference 0."""
        text = parse_sections(output).text("zone")
        zone, offset = (text.strip().splitlines() or [""])[0], (text.strip().splitlines() or [""])[-1]
        kind, _, value = zone.partition(" ")
        if kind not in ("link", "rule", "none") or not _OFFSET.fullmatch(offset) or text.count("\n") > _LINES:
            raise Unreadable("a zone, and a difference from UTC", text, where="/etc/localtime")
        name = value.partition("/zoneinfo/")[2] or value
        is_utc = kind == "none" or value in _UTC_RULES or name.rpartition("/")[2] in _UTC
        findings = []
        if not is_utc and name not in expected.zones:
            findings.append(failed(f"time zone {' or '.join(expected.zones)}", name or "none"))
        if is_utc and offset != "+0000":
            findings.append(failed("a difference of +0000 in UTC", offset))
        return worst(findings, otherwise=f"expected {' or '.join(expected.zones)}, got {name or 'UTC'}")


_LINES = 2
