"""Circuit breaker against the isolation of too many nodes: a wrong check must not stop a site. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection


def limit(max_quarantined: str, nodes: int) -> int:
    """Return the number of nodes that may be isolated; a percentage is rounded down, but is at least one node.

    Args:
        max_quarantined: a count, or a percentage of all nodes.
        nodes: number of nodes of the site.
    """
    if max_quarantined.endswith("%"):
        return max(1, math.floor(nodes * int(max_quarantined[:-1]) / 100))
    return int(max_quarantined)


def opens(isolated: Collection[str], new: Collection[str], accepted: Collection[str], allowed: int) -> bool:
    """Return whether the isolation of further nodes must be refused.

    Args:
        isolated: nodes that are isolated now.
        accepted: nodes that were isolated at the last manual reset; they do not count.
        allowed: from `limit`.
    """
    return len((set(isolated) | set(new)) - set(accepted)) > allowed
