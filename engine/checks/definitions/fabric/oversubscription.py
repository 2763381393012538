"""fabric.oversubscription: no leaf has more bandwidth of hosts than of uplinks, by the factor of site.yaml."""

from __future__ import annotations

from ....fabric.findings import leaf_loads
from ....fabric.topology import Fabric
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ._fabric_check import Expected, FabricCheck


class Oversubscription(FabricCheck):
    id, version, method = "fabric.oversubscription", 1, Method.TEST
    title = "no leaf of the fabric is oversubscribed more than planned"
    controls = ("cp-2.2",)
    severity = Severity.MEDIUM
    remedy = "restore missing uplinks, or state the planned factor in `fabric.max_oversubscription`"

    def judge_fabric(self, fabric: Fabric, expected: Expected) -> Judgement:
        """Fail for a leaf above the factor; a fabric of one switch needs no uplinks."""
        loads = leaf_loads(fabric)
        if not loads:
            return unknown("leaf switches", "none")
        if len(fabric.switches) > 1:
            findings = [
                failed(
                    f"oversubscription of at most {expected.max_oversubscription:g} on {each.leaf}",
                    f"{each.oversubscription:.2f} ({each.down_gbit_s:g} Gbit/s down, {each.up_gbit_s:g} up)",
                )
                for each in loads
                if each.oversubscription > expected.max_oversubscription
            ]
        else:
            findings = []
        most = max(each.oversubscription for each in loads) if len(fabric.switches) > 1 else 0.0
        return worst(
            findings,
            otherwise=f"expected at most {expected.max_oversubscription:g}, got {most:.2f} on {len(loads)} leaves",
        )
