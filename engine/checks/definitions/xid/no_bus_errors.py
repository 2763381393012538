"""xid.no-bus-errors: no PCI Express error since the boot; corrected ones are warnings."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, worst
from ...model.probe import ProbeOutput
from ._log_check import Expected, LogCheck, fault_findings, kernel_log


class NoBusErrors(LogCheck):
    id, version, method = "xid.no-bus-errors", 1, Method.TEST
    title = "no PCI device has reported an error since the boot"
    controls = ("si-13", "si-4")
    severity = Severity.HIGH
    remedy = "read `lspci -vvv` of the device; reseat or replace it after an uncorrected error"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the log of the boot contains no such message."""
        found = kernel_log(output).bus
        return worst(
            fault_findings(found, "PCI Express error"),
            otherwise="expected no PCI Express error since the boot, got none",
        )
