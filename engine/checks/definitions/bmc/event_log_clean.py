"""bmc.event-log-clean: the management controller has logged no fault since the boot of the node.

A message about a failed part is FAIL. Messages of the normal start and of maintenance are ignored. Every other message
is WARN, because each vendor has its own. Events before the boot are ignored; events without a time are not.

Source of the messages: ipmitool 1.8.19, include/ipmitool/ipmi_sel.h; IPMI 2.0 revision 1.1, tables 42-2 and 42-3.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....facts.management.ipmi_controller import LoggedEvent, parse_sel_info, parse_sel_list
from ....facts.numbers import unix_time
from ....facts.unreadable import Unreadable
from ...model.check import Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.probe_sections import ProbeSections
from ...probes.ipmi import LAST_EVENTS, LOG, LOG_STATE
from ._controller import ControllerCheck, Expected

_BOOT = "awk '/^btime /{print $2}' /proc/stat"
_FAULTS = (
    "uncorrectable", "non-recoverable", "critical", "failure", "fault", "ac lost", "thermal trip", "redundancy lost",
    "redundancy degraded", "non-redundant", "fatal", "ierr", "logging limit reached", "configuration error",
    "config error", "panic", "intrusion", "firmware error", "unknown error",
    "bus error", "bus timeout", "soft-power control", "240va", "hung",
)  # fmt: skip
_NORMAL = (
    "log area reset", "presence detected", "device present", "timestamp clock", "os boot", "boot completed",
    "system boot", "initiated by", "power off", "power cycle", "power down", "legacy on", "s0/g0", "s4/s5", "s5/g2",
    "fully redundant", "system restart", "transition to running", "sel clear", "firmware progress",
    "timer expired, status only", "system reconfigured", "oem system boot", "sensor access",
)  # fmt: skip
_NOT_CRITICAL = "non-critical"


class EventLogClean(ControllerCheck):
    id, version, method = "bmc.event-log-clean", 1, Method.TEST
    title = "the management controller has logged no fault since the boot"
    controls = ("au-6", "si-13", "si-4")
    severity = Severity.HIGH
    remedy = "find the part with `ipmitool sel elist`, and replace it; a fault from before a repair ends with a reboot"

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the state of the log, its last events, and the time of the boot in Unix seconds."""
        return {"log_state": LOG_STATE, "events": LOG, "boot_time": _BOOT}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Judge the events since the boot, after a comparison of their number."""
        state, events = parse_sel_info(sections.text("log_state")), parse_sel_list(sections.text("events"))
        text = sections.text("boot_time").strip()
        if not text.isdecimal():
            raise Unreadable("the time of the boot", text, where="/proc/stat")
        boot = unix_time(text)
        if len(events) != min(state.entries, LAST_EVENTS):
            return unknown(f"{min(state.entries, LAST_EVENTS)} events", str(len(events)))
        recent = [each for each in events if each.is_asserted and (each.time is None or each.time >= boot)]
        findings = [finding for each in recent if (finding := _judged(each))]
        if state.entries > len(events) == len(recent):
            findings.append(unknown(f"an event before the boot among the last {LAST_EVENTS}", "none"))
        return worst(findings, otherwise=f"expected no fault since the boot, got none of {len(recent)} events")


def _judged(event: LoggedEvent) -> Judgement | None:
    text = f"{event.sensor}: {event.text}"
    words = text.lower().replace(_NOT_CRITICAL, "")
    if any(word in words for word in _FAULTS):
        return failed("no fault in the event log since the boot", repr(text))
    if any(word in words for word in _NORMAL):
        return None
    return warned("only events of a normal start since the boot", repr(text))
