"""fabric.sharp-present: every switch has a SHARP aggregation node."""

from __future__ import annotations

from ....fabric.findings import without_aggregation_node
from ....fabric.topology import Fabric
from ....spec.fabric import InfinibandFabric
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ._fabric_check import Expected, FabricCheck


class SharpPresent(FabricCheck):
    id, version, method = "fabric.sharp-present", 1, Method.TEST
    title = "every switch of the fabric has a SHARP aggregation node"
    controls = ("cm-2",)
    severity = Severity.MEDIUM
    remedy = "enable SHARP on the switch, and restart the aggregation manager"

    def applies(self, fabric: InfinibandFabric) -> bool:
        """Expect this of sites with SHARP."""
        return fabric.sharp

    def judge_fabric(self, fabric: Fabric, expected: Expected) -> Judgement:
        """Fail for a switch without an aggregation node."""
        findings = [
            failed(f"a SHARP aggregation node on {fabric.name(each.guid)}", "none")
            for each in without_aggregation_node(fabric)
        ]
        if not fabric.switches:
            findings.append(unknown("switches", "none"))
        return worst(findings, otherwise=f"expected SHARP on all switches, got it on {len(fabric.switches)}")
