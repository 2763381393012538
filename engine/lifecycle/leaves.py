"""Leaf switches of sick nodes: many sick nodes on one leaf are a fault of the leaf, not of the nodes. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

MIN_SICK = 3
"""Least number of sick nodes on a leaf before the leaf is indicted. A guess: two faults can coincide."""
MIN_SHARE = 0.5
"""Least share of a leaf's nodes that are sick. A guess."""
MIN_CONCENTRATION = 2.0
"""Least ratio of the leaf's share of sick nodes to the share on all other leaves. A fault of the whole site, such as a
wrong check, therefore indicts no leaf. A guess."""


@dataclass(frozen=True)
class LeafFault:
    """A leaf whose nodes are sick together.

    Args:
        sick: nodes, sorted.
        nodes: number of nodes on the leaf.
    """

    leaf: str
    sick: tuple[str, ...]
    nodes: int

    def __str__(self) -> str:
        return f"leaf {self.leaf}: {len(self.sick)} of {self.nodes} nodes are sick; examine the leaf, not the nodes"


def leaf_faults(sick: Collection[str], leaf_of: Mapping[str, str | None]) -> list[LeafFault]:
    """Return the indicted leaves, sorted by name.

    Args:
        leaf_of: leaf by node, of all nodes of the site; None if unknown.
    """
    nodes: dict[str, list[str]] = defaultdict(list)
    for node, leaf in leaf_of.items():
        if leaf is not None:
            nodes[leaf].append(node)
    sick_of = {leaf: tuple(sorted(set(of_leaf) & set(sick))) for leaf, of_leaf in nodes.items()}
    found = []
    for leaf, ill in sorted(sick_of.items()):
        others = sum(len(each) for other, each in nodes.items() if other != leaf)
        elsewhere = sum(len(each) for other, each in sick_of.items() if other != leaf)
        share = len(ill) / len(nodes[leaf])
        is_concentrated = share >= MIN_CONCENTRATION * (elsewhere / others if others else 0.0)
        if len(ill) >= MIN_SICK and share >= MIN_SHARE and is_concentrated:
            found.append(LeafFault(leaf, ill, len(nodes[leaf])))
    return found
