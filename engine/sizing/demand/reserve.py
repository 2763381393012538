"""Replicas in reserve: growth of demand, failed nodes, nodes under maintenance, spare replicas. Pure.

replicas_with_reserve(needed=3, reserve=reserve, nodes=2, replicas_per_node=4)
"""

from __future__ import annotations

from ...spec.workload import Reserve


def growth_factor(reserve: Reserve) -> float:
    """How much more will be asked at the end of the years that are sized for."""
    return float((1 + reserve.growth_percent_per_year / 100) ** reserve.growth_years)


def replicas_with_reserve(needed: int, reserve: Reserve, *, nodes: int, replicas_per_node: int) -> int | None:
    """The fewest replicas that still are `needed` when the nodes that may go are away, and the spare ones besides.

    A node takes with it the replicas on it; placement pool_layouts them evenly. Nothing is added twice: spare replicas
    cover a node's, as far as they go.

    Args:
        nodes: of the pool.
        replicas_per_node: that fit on one; 0 when a replica takes several nodes.

    Returns:
        None when so many nodes may go that none is left.
    """
    away = reserve.failed_nodes + reserve.maintenance_nodes
    least = needed + reserve.spare_replicas
    if not away:
        return least
    if away >= nodes:
        return None
    # One more replica leaves no fewer, and nodes times as many leave enough on the one node that stays at least.
    enough = least + nodes * (needed + 1)
    while least < enough:
        middle = (least + enough) // 2
        is_enough = middle - lost(middle, nodes, away, replicas_per_node) >= needed
        least, enough = (least, middle) if is_enough else (middle + 1, enough)
    return least


def lost(replicas: int, nodes: int, away: int, replicas_per_node: int) -> int:
    """Replicas that go with the `away` fullest nodes, when they are spread evenly."""
    if replicas_per_node == 0:  # each replica lies on several nodes: a node takes at most one
        return min(replicas, away)
    full, rest = divmod(replicas, nodes)
    return min(replicas, away * full + min(away, rest))
