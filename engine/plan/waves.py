"""Which nodes change together, and which go first.

The canary is the node whose loss would cost least: the one that serves the least, then the one with the most kinds of
change. Nodes that share a replica always go together, because its ranks restart together. Gateways go last, when
what they route to has been proven; only where nothing serves yet may they be set up beside the pools.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..resources.context import Context
from ..resources.resource import Change, Verb

WAVE_SHARE = 0.25
"""Of the nodes to change, at most, in one wave after the first two; a choice of ours (reference, provisioning 3.3)."""
GATEWAY_COST = 1_000_000
"""More than any number of replicas: without its gateway a site serves nothing."""


@dataclass(frozen=True)
class Wave:
    """Nodes that change at the same time, in the order of the file."""

    name: str
    nodes: tuple[str, ...]


def waves(context: Context, changes: Iterable[Change]) -> list[Wave]:
    """Canary, then growing waves; the next one starts only when the last was proven."""
    kinds: dict[str, set[str]] = {}
    nothing_serves = True
    for change in changes:
        kinds.setdefault(change.node, set()).add(change.kind)
        nothing_serves &= change.kind not in ("pool", "gateway") or change.verb is Verb.CREATE
    gangs = _gangs(context, list(kinds))
    gangs.sort(key=lambda gang: (_cost(context, gang), -max(len(kinds[node]) for node in gang)))
    if not gangs:
        return []
    ordered = [Wave("canary", gangs[0])]
    rest, size = gangs[1:], max(1, round(len(kinds) * WAVE_SHARE), len(kinds) - 1 if len(kinds) <= 4 else 0)
    number = 1
    while rest:
        batch: list[str] = []
        while rest and (not batch or len(batch) + len(rest[0]) <= size):
            if batch and not nothing_serves and _has_gateway(context, rest[0]) != _has_gateway(context, tuple(batch)):
                break
            batch += rest.pop(0)
        ordered.append(Wave(f"wave {number}", tuple(batch)))
        number += 1
    return ordered


def _gangs(context: Context, nodes: list[str]) -> list[tuple[str, ...]]:
    """Nodes joined by the replicas they share, each group in the order of the file."""
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


def _cost(context: Context, gang: tuple[str, ...]) -> int:
    """What stands still while these nodes change: replicas, and a gateway more than any replica."""
    nodes = [context.spec.node(name) for name in gang]
    served = {(each.pool, each.index) for node in nodes for each in context.replicas_on(node)}
    return len(served) + GATEWAY_COST * _has_gateway(context, gang)
