"""fabric.cabling-as-planned: every cable connects the two ports that the cabling file plans."""

from __future__ import annotations

from ....fabric.cabling import compare
from ....fabric.topology import Fabric
from ....spec.fabric import InfinibandFabric
from ...model.check import Judgement, Method, Severity, failed, warned, worst
from ._fabric_check import Expected, FabricCheck


class CablingAsPlanned(FabricCheck):
    id, version, method = "fabric.cabling-as-planned", 1, Method.TEST
    title = "every cable of the fabric connects its planned ports"
    controls = ("cm-2", "cm-8")
    severity = Severity.HIGH
    remedy = "move the cable to the planned port, or correct the cabling file after a review"

    def applies(self, fabric: InfinibandFabric) -> bool:
        """Expect this of sites with a cabling file."""
        return fabric.cabling_file is not None

    def judge_fabric(self, fabric: Fabric, expected: Expected) -> Judgement:
        """Fail for a cable in another port; warn for cables without a plan. Missing links have a check of their own."""
        difference = compare(expected.plan, fabric)
        findings = [
            failed(f"{link.one} connected to {link.other} (line {link.line})", f"{end} connected to {actual}")
            for link, end, actual in difference.wrong
        ]
        findings += [warned("only planned links", each) for each in difference.unplanned]
        return worst(findings, otherwise=f"expected {len(expected.plan)} planned links, got no other connection")
