"""fabric.no-slow-links: every link has at least the rate of site.yaml."""

from __future__ import annotations

from ....fabric.findings import slow_links
from ....fabric.topology import Fabric
from ...model.check import Judgement, Method, Severity, failed, worst
from ._fabric_check import Expected, FabricCheck


class NoSlowLinks(FabricCheck):
    id, version, method = "fabric.no-slow-links", 1, Method.TEST
    title = "every link of the fabric has its rated speed"
    controls = ("cm-8", "si-13")
    severity = Severity.MEDIUM
    remedy = "reseat or replace the cable, and check that both ports enable the speed"

    def judge_fabric(self, fabric: Fabric, expected: Expected) -> Judgement:
        """Fail for a link below the rate; both ends are in the reason."""
        findings = [
            failed(
                f"{expected.link_gbit_s:g} Gbit/s on {fabric.label_link(link)}", f"{link.speed.gbit_s:g} ({link.speed})"
            )
            for link in slow_links(fabric, at_least_gbit_s=expected.link_gbit_s)
        ]
        return worst(
            findings, otherwise=f"expected {expected.link_gbit_s:g} Gbit/s, got it on {len(fabric.links)} links"
        )
