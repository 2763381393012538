"""Groups the nodes of a plan into waves, and orders the waves.

- The first wave, `canary`, is the node that serves the fewest replicas; of several, the one with the most resource
  types to change.
- Nodes of one replica are in the same wave, because its ranks restart together.
- Gateways are in the last waves, after the pools they route to. If nothing serves yet, pools may be in their wave.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..resources.context import Context
from ..resources.resource import Change, Verb

WAVE_SHARE = 0.25
"""Largest part of the nodes to change in one wave after the canary."""
GATEWAY_COST = 1_000_000
"""Cost of a gateway, in replicas. Larger than any number of replicas, because a site without gateway serves nothing."""


@dataclass(frozen=True)
class Wave:
    """Nodes that change at the same time, in the order of site.yaml."""

    name: str
    nodes: tuple[str, ...]


def waves(context: Context, changes: Iterable[Change]) -> list[Wave]:
    """Return the canary wave and the waves after it, in order; empty without changes.

    Apply starts a wave only after a new observation of the wave before shows no difference.
    """
    kinds: dict[str, set[str]] = {}
    nothing_serves_yet = True
    for change in changes:
        kinds.setdefault(change.node, set()).add(change.kind)
        nothing_serves_yet &= change.kind not in ("pool", "gateway") or change.verb is Verb.CREATE
    groups = _colocated_nodes(context, list(kinds))
    groups.sort(key=lambda nodes: (_cost(context, nodes), -max(len(kinds[node]) for node in nodes)))
    if not groups:
        return []
    ordered = [Wave("canary", groups[0])]
    rest, size = groups[1:], max(1, round(len(kinds) * WAVE_SHARE), len(kinds) - 1 if len(kinds) <= 4 else 0)
    number = 1
    while rest:
        batch: list[str] = []
        while rest and (not batch or len(batch) + len(rest[0]) <= size):
            is_mixed = _has_gateway(context, rest[0]) != _has_gateway(context, tuple(batch))
            if batch and is_mixed and not nothing_serves_yet:
                break
            batch += rest.pop(0)
        ordered.append(Wave(f"wave {number}", tuple(batch)))
        number += 1
    return ordered


def _colocated_nodes(context: Context, nodes: list[str]) -> list[tuple[str, ...]]:
    """Return groups of nodes that share a replica, directly or through other nodes; each in the order of site.yaml."""
    group = {node: {node} for node in nodes}
    for replica in context.replicas:
        members = [rank.node for rank in replica.ranks if rank.node in group]
        joined = set().union(*(group[node] for node in members)) if members else set()
        for node in joined:
            group[node] = joined
    order = [node.name for _, node in context.spec.nodes()]
    return list(dict.fromkeys(tuple(sorted(members, key=order.index)) for members in group.values()))


def _has_gateway(context: Context, nodes: tuple[str, ...]) -> bool:
    return any(context.is_gateway(context.spec.node(name)) for name in nodes)


def _cost(context: Context, names: tuple[str, ...]) -> int:
    """Return the number of replicas on these nodes, plus `GATEWAY_COST` if the gateway runs on one of them."""
    nodes = [context.spec.node(name) for name in names]
    served = {(each.pool, each.index) for node in nodes for each in context.replicas_on(node)}
    return len(served) + GATEWAY_COST * _has_gateway(context, names)
