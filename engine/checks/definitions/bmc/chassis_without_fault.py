"""bmc.chassis-without-fault: the chassis reports no fault of power, cooling or drives, and no intrusion.

Source of the lines: ipmitool 1.8.19, lib/ipmi_chassis.c; IPMI 2.0 revision 1.1, 28.2 (get chassis status).
"""

from __future__ import annotations

from collections.abc import Mapping

from ....facts.unreadable import Unreadable
from ...model.check import Judgement, Method, Severity, failed, worst
from ...model.probe_sections import ProbeSections
from ...probes.ipmi import CHASSIS
from ._controller import ControllerCheck, Expected

_FAULTS = {
    "Power Overload": "false",
    "Main Power Fault": "false",
    "Power Control Fault": "false",
    "Chassis Intrusion": "inactive",
    "Drive Fault": "false",
    "Cooling/Fan Fault": "false",
}
"""Value without a fault by line; ipmitool prints `true` or `active` otherwise."""
_OTHERWISE = frozenset({"true", "active"})


class ChassisWithoutFault(ControllerCheck):
    id, version, method = "bmc.chassis-without-fault", 1, Method.TEST
    title = "the chassis reports no fault and no intrusion"
    controls = ("pe-3", "pe-6", "si-13")
    severity = Severity.HIGH
    remedy = "read the event log with `ipmitool sel elist`; after an intrusion, inspect the node before it serves"

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the state of the chassis."""
        return {"chassis": CHASSIS}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Pass if every line is present and without a fault."""
        text = sections.text("chassis")
        rows = dict([word.strip() for word in line.split(":", 1)] for line in text.splitlines() if ":" in line)
        findings = []
        for name, good in _FAULTS.items():
            if rows.get(name) in _OTHERWISE:
                findings.append(failed(f"{name} {good}", rows[name]))
            elif rows.get(name) != good:
                raise Unreadable(f"{name} {good}", rows.get(name, text), where="ipmitool chassis status")
        return worst(findings, otherwise=f"expected no fault of the chassis, got none of {len(_FAULTS)}")
