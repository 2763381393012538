"""xid.no-switch-errors: no NVSwitch has reported an SXid since the boot; non-fatal ones are warnings."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, worst
from ...model.probe import ProbeOutput
from ._log_check import Expected, LogCheck, fault_findings, kernel_log


class NoSwitchErrors(LogCheck):
    id, version, method = "xid.no-switch-errors", 1, Method.TEST
    title = "no NVSwitch has reported an SXid since the boot"
    controls = ("si-13", "si-4")
    severity = Severity.HIGH
    remedy = (
        "read fabric manager's log; reset all GPUs of the node for a fatal SXid, and replace the board if it returns"
    )

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the log of the boot contains no such message."""
        found = kernel_log(output).sxids
        return worst(fault_findings(found, "SXid"), otherwise="expected no SXid since the boot, got none")
