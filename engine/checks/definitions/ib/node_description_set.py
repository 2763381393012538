"""ib.node-description-set: every compute adapter has a node description of its own."""

from __future__ import annotations

from ....fabric.names import has_default_host, is_unset
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...probes.compute_ports import Expected
from ._ports import ComputePortCheck


class NodeDescriptionSet(ComputePortCheck):
    id, version, method = "ib.node-description-set", 1, Method.EXAMINE
    title = "every compute adapter has a node description"
    controls = ("cm-8",)
    severity = Severity.LOW
    remedy = "set the host name, and restart rdma-ndd"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail for the default of the vendor, and for the host name of a fresh installation."""
        ports, findings = self.ports(output, expected)
        for adapter, _ in ports:
            if adapter.description is None:
                findings.append(unknown(f"the node description of {adapter.name}", "none"))
            elif is_unset(adapter.description) or has_default_host(adapter.description):
                findings.append(failed(f"a node description of {adapter.name}", repr(adapter.description)))
        return worst(findings, otherwise=f"expected node descriptions, got them on {len(ports)} ports")
