"""nccl.all-nodes-bandwidth: all nodes of a group reduce together at the bus bandwidth of their board."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.check_context import CheckContext
from ._group import Expected, GroupCheck


class AllNodesBandwidth(GroupCheck):
    id = "nccl.all-nodes-bandwidth"
    title = "all nodes of a group reduce together at the bus bandwidth of their board"
    remedy = (
        "compare the results of `nccl.leaf-bandwidth`; if all leaves pass, check the uplinks with `sovctl fabric show`"
    )
    order = 450

    def expect_controller(self, site: CheckContext) -> Iterator[Expected]:
        """Expect this of every group with at least two available nodes."""
        for group in site.context.spec.node_groups:
            nodes = [node for node in group.nodes if node.name not in site.context.unavailable]
            yield from self.expectation(site, group, nodes, group.name)
