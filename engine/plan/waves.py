"""Groups the nodes of a plan into waves, and orders the waves.

- The first wave, `canary`, is the group that interrupts the fewest servers; of several, the one with the fewest
  replicas, then the one with the most resource types to change.
- Nodes of one replica are in the same wave, because its ranks restart together.
- A wave keeps every service at or above its floor (`min_serving`), and takes at most `WAVE_SHARE` of its servers, but
  at least one group. A group that cannot keep a floor is alone in its wave, and needs the operator's consent.
- At most one node with a serving gateway changes in a wave.
- Mirror nodes whose mirror changes are first, because other nodes download from them.
- Gateways change after the pools that they route to. Nodes that only lose replicas, and removed nodes, change last,
  because gateways route to these until then.
- Waves grow: `FIRST_SHARE` of the nodes after the canary, then `WAVE_SHARE`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from ..resources import pool
from ..resources.context import Context
from ..resources.mirror import server, snapshot
from ..resources.removal import node_removal
from ..resources.resource import Change, Verb
from .durations import Duration, Durations
from .serving import GATEWAYS, Capacity, Server, Serving

FIRST_SHARE = 0.10
WAVE_SHARE = 0.25
"""Largest part of the changed nodes, and of the servers of a service, in a wave: the first after the canary, and the
next ones. Source: stages 1, 1, 10 %, 25 % of reference rollouts; community practice, 2026-11."""
SMALL_SITE = 4
"""Largest number of changed nodes that may change in one wave after the canary."""
LARGE_SITE = 16
"""Smallest number of changed nodes from which the first wave after the canary has `FIRST_SHARE`."""


@dataclass(frozen=True)
class Wave:
    """Nodes that change at the same time.

    Args:
        nodes: in the order of site.yaml within each replica.
        minutes: estimated duration, see `durations`.
        capacity: services that lose servers during the wave.
    """

    name: str
    nodes: tuple[str, ...]
    minutes: float = 0.0
    capacity: tuple[Capacity, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain values for the plan file."""
        return {
            "name": self.name,
            "nodes": list(self.nodes),
            "minutes": self.minutes,
            "capacity": [vars(each) for each in self.capacity],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Wave:
        """Return the wave that `to_json` wrote.

        Raises:
            KeyError, TypeError: `value` is not a wave.
        """
        capacity = tuple(Capacity(**each) for each in value["capacity"])
        return cls(value["name"], tuple(value["nodes"]), value["minutes"], capacity)


class _Stage(IntEnum):
    """Order of groups: a later stage begins after all groups of an earlier one."""

    MIRRORS = 0
    POOLS = 1
    GATEWAYS = 2
    REMOVALS = 3


@dataclass(frozen=True)
class _Group:
    """Nodes that change together."""

    nodes: tuple[str, ...]
    stage: _Stage
    taken: frozenset[Server]
    """Serving servers that its changes interrupt."""
    gateways: int
    """Serving gateways on its nodes, interrupted or not."""
    replicas: int
    kinds: int
    durations: tuple[Duration, ...]
    """One for each node."""

    @property
    def lost(self) -> Counter[str]:
        """Number of interrupted servers by service."""
        return Counter(server.service for server in self.taken)


def waves(context: Context, changes: Iterable[Change], serving: Collection[Server]) -> list[Wave]:
    """Return the canary wave and the waves after it, in order; empty without changes.

    Args:
        serving: servers that serve now, see `Serving.now`.
    """
    site, durations, serving = Serving(context), Durations(context), frozenset(serving)
    rest = sorted(_groups(site, durations, list(changes), serving), key=_cost)
    if not rest:
        return []
    count = sum(len(group.nodes) for group in rest)
    made = [_wave(site, durations, "canary", [rest.pop(0)], serving)]
    while rest:
        share = FIRST_SHARE if len(made) == 1 and count >= LARGE_SITE else WAVE_SHARE
        size = count - 1 if count <= SMALL_SITE else max(1, round(count * share))
        batch = _Batch(site, serving, size=size)
        rest = [group for group in rest if not batch.add(group)]
        made.append(_wave(site, durations, f"wave {len(made)}", batch.groups, serving))
    return made


def downtime(made: Iterable[Wave]) -> dict[str, list[tuple[str, Capacity]]]:
    """Return the waves that take a service below its floor, with their capacity, by service."""
    found: dict[str, list[tuple[str, Capacity]]] = {}
    for wave in made:
        for each in wave.capacity:
            if not each.is_kept:
                found.setdefault(each.service, []).append((wave.name, each))
    return found


class _Batch:
    """The groups of one wave.

    Args:
        size: largest number of nodes, unless the first group has more.
    """

    def __init__(self, site: Serving, serving: frozenset[Server], *, size: int) -> None:
        self.groups: list[_Group] = []
        self._site, self._serving, self._size = site, serving, size
        self._before = Counter(server.service for server in serving)
        self._lost: Counter[str] = Counter()
        self._is_full = False

    def add(self, group: _Group) -> bool:
        """Add a group if the wave may take it; the first one always."""
        if self._is_full or (self.groups and not self._may_take(group)):
            return False
        self.groups.append(group)
        lost = group.lost
        self._lost.update(lost)
        # A group that cannot keep a floor is alone in its wave.
        self._is_full = any(self._left(service) < self._site.floors[service] for service in lost)
        return True

    def _may_take(self, group: _Group) -> bool:
        first = self.groups[0]
        if group.stage is not first.stage and (
            self._serving or first.stage is _Stage.MIRRORS or group.stage is _Stage.REMOVALS
        ):
            return False  # where nothing serves yet, gateways need not wait for pools
        if sum(len(each.nodes) for each in self.groups) + len(group.nodes) > self._size:
            return False
        if group.gateways and any(each.gateways for each in self.groups):
            return False
        return all(self._may_lose(service, count) for service, count in group.lost.items())

    def _may_lose(self, service: str, count: int) -> bool:
        if self._left(service) - count < self._site.floors[service]:
            return False
        so_far = self._lost[service]
        return not so_far or so_far + count <= self._before[service] * WAVE_SHARE

    def _left(self, service: str) -> int:
        return self._before[service] - self._lost[service]


def _wave(site: Serving, durations: Durations, name: str, groups: list[_Group], serving: frozenset[Server]) -> Wave:
    taken = frozenset(server for group in groups for server in group.taken)
    nodes = tuple(node for group in groups for node in group.nodes)
    minutes = durations.wave_minutes(each for group in groups for each in group.durations)
    return Wave(name, nodes, round(minutes, 2), site.capacities(serving, taken))


def _groups(site: Serving, durations: Durations, changes: list[Change], serving: frozenset[Server]) -> Iterator[_Group]:
    """Yield groups of changed nodes that share a replica, directly or indirectly, in the order of site.yaml."""
    of_node: dict[str, list[Change]] = {}
    for change in changes:
        of_node.setdefault(change.node, []).append(change)
    gateways = {node.name for node in site.context.gateway_nodes}
    for nodes in _colocated_nodes(site.context, of_node):
        own = [change for node in nodes for change in of_node[node]]
        yield _Group(
            nodes=nodes,
            stage=_stage(own, has_gateway=not gateways.isdisjoint(nodes)),
            taken=frozenset(server for server in site.interrupted(own) if server in serving),
            gateways=sum(Server(GATEWAYS, node) in serving for node in nodes),
            replicas=len({server for node in nodes for server in site.on_node.get(node, ())}),
            kinds=max(len({change.kind for change in of_node[node]}) for node in nodes),
            durations=tuple(durations.of(of_node[node]) for node in nodes),
        )


def _stage(changes: list[Change], *, has_gateway: bool) -> _Stage:
    if any(change.kind == node_removal.KIND for change in changes):
        return _Stage.REMOVALS
    if any(change.kind in (snapshot.KIND, server.KIND) and change.verb is not Verb.DELETE for change in changes):
        return _Stage.MIRRORS
    pools = [change for change in changes if change.kind == pool.RESOURCE_TYPE.name]
    if pools and all(change.verb is Verb.DELETE for change in pools) and not has_gateway:
        return _Stage.REMOVALS
    return _Stage.GATEWAYS if has_gateway else _Stage.POOLS


def _colocated_nodes(context: Context, nodes: Collection[str]) -> list[tuple[str, ...]]:
    group = {node: {node} for node in nodes}
    for replica in context.replicas:
        members = [rank.node for rank in replica.ranks if rank.node in group]
        joined = set().union(*(group[node] for node in members)) if members else set()
        for node in joined:
            group[node] = joined
    order = {name: place for place, name in enumerate(context.nodes)}
    found = dict.fromkeys(tuple(sorted(members, key=order.__getitem__)) for members in group.values())
    return sorted(found, key=lambda members: order[members[0]])


def _cost(group: _Group) -> tuple[_Stage, int, int, int]:
    """Sort key: the stage, then groups that take fewer servers, that have fewer replicas, that change more types."""
    return group.stage, len(group.taken), group.replicas, -group.kinds
