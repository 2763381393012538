"""bmc.event-log-space: the event log has space for the next fault."""

from __future__ import annotations

from collections.abc import Mapping

from ....facts.management.ipmi_controller import parse_sel_info
from ...model.check import Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.probe_sections import ProbeSections
from ...probes.ipmi import LOG_STATE
from ._controller import ControllerCheck, Expected

_MOST_PERCENT = "bmc.event-log-space.most"


class EventLogSpace(ControllerCheck):
    id, version, method = "bmc.event-log-space", 1, Method.TEST
    title = "the event log of the management controller has space"
    controls = ("au-4", "au-5")
    severity = Severity.LOW
    remedy = "save the log with `ipmitool sel save FILE`, then clear it with `ipmitool sel clear`"

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the state of the log."""
        return {"log_state": LOG_STATE}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Fail after an overflow, warn above the limit. Some controllers do not state the used part."""
        most_percent = expected.limit_of(_MOST_PERCENT)
        state = parse_sel_info(sections.text("log_state"))
        findings = [failed("no lost event", "an overflow of the log")] if state.is_overflowed else []
        if state.used_percent is None:
            findings.append(unknown("the used part of the event log", "none"))
        elif state.used_percent > most_percent:
            findings.append(warned(f"at most {most_percent} % of the event log in use", f"{state.used_percent} %"))
        return worst(findings, otherwise=f"expected space in the event log, got {state.used_percent} % in use")
