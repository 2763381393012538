"""nccl.leaf-bandwidth: the nodes of each leaf switch reduce together at the bus bandwidth of their board.

A leaf whose nodes reach the limit among themselves, and not together with other leaves, has faulty uplinks.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.check_context import CheckContext
from ._group import Expected, GroupCheck


class LeafBandwidth(GroupCheck):
    id = "nccl.leaf-bandwidth"
    title = "the nodes of each leaf reduce together at the bus bandwidth of their board"
    remedy = "run `sovctl verify --check ib.pair-bandwidth` on the named nodes; both slow pairs of a node name it"
    order = 400

    def expect_controller(self, site: CheckContext) -> Iterator[Expected]:
        """Expect this of each `leaf` with at least two available nodes of one group."""
        for group in site.context.spec.node_groups:
            nodes = [node for node in group.nodes if node.name not in site.context.unavailable]
            for leaf in dict.fromkeys(node.leaf for node in nodes if node.leaf):
                of_leaf = [node for node in nodes if node.leaf == leaf]
                yield from self.expectation(site, group, of_leaf, f"{group.name}/{leaf}")
