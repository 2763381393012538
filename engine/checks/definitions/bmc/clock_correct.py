"""bmc.clock-correct: the clock of the management controller agrees with that of the node, so events have their time."""

from __future__ import annotations

from collections.abc import Mapping

from ....facts.management.ipmi_controller import parse_sel_time
from ....facts.numbers import unix_time
from ....facts.unreadable import Unreadable
from ...model.check import Judgement, Method, Severity, warned, worst
from ...model.probe_sections import ProbeSections
from ...probes.ipmi import LOG_TIME
from ._controller import ControllerCheck, Expected

_MOST_S = "bmc.clock-correct.most"


class ControllerClock(ControllerCheck):
    id, version, method = "bmc.clock-correct", 1, Method.TEST
    title = "the clock of the management controller is correct"
    controls = ("au-8", "sc-45")
    severity = Severity.LOW
    remedy = "configure an NTP server and UTC in the management controller, or run `ipmitool sel time set now`"

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the time of the event log, and that of the node in Unix seconds with a mark against a cut number."""
        return {"times": f"{LOG_TIME} && date -u +'%s end'"}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Warn if the difference exceeds the limit."""
        most_s = expected.limit_of(_MOST_S)
        *lines, last = sections.text("times").strip().splitlines() or [""]
        seconds, _, end = last.partition(" ")
        if len(lines) != 1 or not seconds.isdecimal() or end != "end":
            raise Unreadable("two times", sections.text("times"), where="ipmitool sel time get")
        difference = abs((parse_sel_time(lines[0]) - unix_time(seconds)).total_seconds())
        findings = []
        if difference > most_s:
            findings.append(warned(f"a difference of at most {most_s} s", f"{difference:.0f} s"))
        return worst(findings, otherwise=f"expected the time of the node, got a difference of {difference:.0f} s")
