"""Replicas in reserve: growth of demand, failed nodes, nodes under maintenance, spare replicas. Pure.

replicas_with_reserve(needed=3, reserve=reserve, nodes=2, replicas_per_node=4)
"""

from __future__ import annotations

from ...spec.workload import Reserve


def growth_factor(reserve: Reserve) -> float:
    """Return demand at the end of `growth_years` / demand today."""
    return float((1 + reserve.growth_percent_per_year / 100) ** reserve.growth_years)


def replicas_with_reserve(needed: int, reserve: Reserve, *, nodes: int, replicas_per_node: int) -> int | None:
    """Return the fewest replicas of which `needed` remain while failed nodes and nodes under maintenance are away.

    Placement spreads replicas evenly over nodes. Spare replicas count towards the replicas lost with a node.

    Args:
        needed: replicas for the demand.
        nodes: nodes of the pool.
        replicas_per_node: capacity of one node; 0 if a replica uses several nodes.

    Returns:
        None if the reserve exceeds the nodes of the pool.
    """
    away = reserve.failed_nodes + reserve.maintenance_nodes
    least = needed + reserve.spare_replicas
    if not away:
        return least
    if away >= nodes:
        return None
    # Binary search: more replicas never leave fewer. The upper bound leaves enough on a single remaining node.
    enough = least + nodes * (needed + 1)
    while least < enough:
        middle = (least + enough) // 2
        is_enough = middle - lost(middle, nodes, away, replicas_per_node) >= needed
        least, enough = (least, middle) if is_enough else (middle + 1, enough)
    return least


def lost(replicas: int, nodes: int, away: int, replicas_per_node: int) -> int:
    """Return the replicas on the `away` fullest nodes, if replicas are spread evenly."""
    if replicas_per_node == 0:  # a replica uses several nodes, so a node hosts at most one
        return min(replicas, away)
    full, rest = divmod(replicas, nodes)
    return min(replicas, away * full + min(away, rest))
