"""fabric.rails-not-swapped: each leaf connects the same adapter index of all its hosts."""

from __future__ import annotations

from ....fabric.rails import Misplaced, rails_of
from ....fabric.topology import Fabric
from ....spec.fabric import InfinibandFabric
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ._fabric_check import Expected, FabricCheck


class RailsNotSwapped(FabricCheck):
    id, version, method = "fabric.rails-not-swapped", 1, Method.TEST
    title = "every adapter is connected to the leaf of its rail"
    controls = ("cm-2", "cm-8")
    severity = Severity.MEDIUM
    remedy = "exchange the two cables at the host or at the leaves, and run NCCL of the host again"

    def applies(self, fabric: InfinibandFabric) -> bool:
        """Expect this of rail-optimized fabrics."""
        return fabric.rail_optimized

    def judge_fabric(self, fabric: Fabric, expected: Expected) -> Judgement:
        """Fail for swapped and misplaced adapters; both ends are in the reason."""
        rails = rails_of(fabric)
        findings = [
            failed(
                f"{_index(one)} and {_index(other)} of {one.name.host} on their rails",
                f"swapped: {_place(one)}, {_place(other)}",
            )
            for one, other in rails.swapped
        ]
        findings += [
            failed(f"{each.name.host} {_index(each)} on a leaf of its rail", _place(each)) for each in rails.misplaced
        ]
        findings += [
            failed(f"one adapter index on {leaf}", "several, none of them in the majority") for leaf in rails.mixed
        ]
        if not rails.by_leaf and not findings:
            findings.append(unknown("adapters with a host and an index in their descriptions", "none"))
        return worst(findings, otherwise=f"expected one rail on each leaf, got it on {len(fabric.leaves)} leaves")


def _index(each: Misplaced) -> str:
    return f"{each.name.scheme}{each.name.index}"


def _place(each: Misplaced) -> str:
    return f"{_index(each)} on {each.leaf} port {each.leaf_port}, rail {each.name.scheme}{each.rail}"
