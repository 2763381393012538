"""xid.no-adapter-faults: no ConnectX adapter has reported a hardware fault since the boot."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, worst
from ...model.probe import ProbeOutput
from ._log_check import Expected, LogCheck, fault_findings, kernel_log


class NoAdapterFaults(LogCheck):
    id, version, method = "xid.no-adapter-faults", 1, Method.TEST
    title = "no network adapter has reported a fault since the boot"
    controls = ("si-13", "si-4")
    severity = Severity.HIGH
    remedy = "update the firmware of the adapter, or power-cycle the node; replace the adapter if the message returns"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the log of the boot contains no such message."""
        found = kernel_log(output).adapters
        return worst(fault_findings(found, "fault"), otherwise="expected no fault since the boot, got none")
