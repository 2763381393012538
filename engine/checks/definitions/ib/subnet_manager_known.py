"""ib.subnet-manager-known: every compute port has the LID of a subnet manager, and all have the same one."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...probes.compute_ports import Expected
from ._ports import ComputePortCheck


class SubnetManagerKnown(ComputePortCheck):
    id, version, method = "ib.subnet-manager-known", 1, Method.TEST
    title = "every compute port knows the subnet manager of the fabric"
    controls = ("cp-2.2", "si-13")
    severity = Severity.HIGH
    remedy = "start the subnet manager, and check that all rails are one fabric"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail for LID 0, and for different LIDs."""
        ports, findings = self.ports(output, expected)
        lids = set()
        for adapter, port in ports:
            if port.manager_lid is None:
                findings.append(unknown(f"the LID of the subnet manager on {adapter.name} port {port.number}", "none"))
            elif port.manager_lid == 0:
                findings.append(failed(f"a subnet manager on {adapter.name} port {port.number}", "LID 0"))
            else:
                lids.add(port.manager_lid)
        if len(lids) > 1:
            findings.append(failed("one subnet manager on all ports", f"LIDs {', '.join(map(str, sorted(lids)))}"))
        return worst(findings, otherwise=f"expected one subnet manager, got LID {min(lids, default=0)} on all ports")
