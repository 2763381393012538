"""driver.no-pending-reboot: no installed package waits for a reboot."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, failed, passed, unknown
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._driver_check import DriverCheck, Expected


class NoPendingReboot(DriverCheck):
    id, version, method = "driver.no-pending-reboot", 1, Method.EXAMINE
    title = "no installed package waits for a reboot"
    controls = ("cm-6", "si-2")
    severity = Severity.LOW
    remedy = "drain and reboot the node in the next maintenance window"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the mark of the package manager is absent."""
        word = parse_sections(output).text("reboot").strip()
        if word == "none":
            return passed("expected no pending reboot, got none")
        return (
            failed("no pending reboot", word)
            if word == "required"
            else unknown("`required` or `none`", word or "nothing")
        )
