"""roce.flow-control: priority flow control protects the priority of RDMA, which adapters derive from the DSCP."""

from __future__ import annotations

from ....facts.fabric.roce import parse_mlnx_qos
from ....spec.fabric import RoceNetwork
from ...model.check import Judgement, Method, Severity, failed, unknown
from ...model.probe_sections import ProbeSections
from ._roce_check import RoceCheck, each_port


class FlowControl(RoceCheck):
    id, version, method = "roce.flow-control", 1, Method.EXAMINE
    title = "flow control of RoCE is on for the planned priority only"
    controls = ("cm-2", "cm-6")
    severity = Severity.HIGH
    remedy = "set `mlnx_qos -i DEVICE --trust dscp --pfc ...` as in site.yaml, and compare the switch port"

    def commands(self, network: RoceNetwork) -> dict[str, str]:
        """Print trust, mapping and flow control."""
        return {"qos": 'mlnx_qos -i "${net##*/}"'}

    def judge_ports(self, sections: ProbeSections, wanted: frozenset[str], network: RoceNetwork) -> list[Judgement]:
        """Fail for other lossless priorities, another trust state, or another priority of the DSCP."""
        findings = []
        priority, dscp = network.lossless_priority, network.traffic_class >> 2
        for interface, found in each_port(sections.text("qos"), wanted, parse_mlnx_qos):
            if found.lossless != {priority}:
                got = ", ".join(map(str, sorted(found.lossless))) or "none"
                findings.append(failed(f"flow control of priority {priority} only on {interface}", got))
            if found.trust != "dscp":
                findings.append(failed(f"trust dscp on {interface}", found.trust))
            elif dscp not in found.priority_of_dscp:
                findings.append(unknown(f"the priority of DSCP {dscp} on {interface}", "no mapping"))
            elif found.priority_of_dscp[dscp] != priority:
                got = str(found.priority_of_dscp[dscp])
                findings.append(failed(f"priority {priority} of DSCP {dscp} on {interface}", got))
        return findings
