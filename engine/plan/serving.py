"""Capacity that serves clients: which servers a change interrupts, and how many must keep serving. Pure.

A server is a replica of a pool with all its ranks, or the gateway of one node. A service is a pool, or the gateways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..facts.node import NodeFacts
from ..placement import Replica
from ..resources import pool
from ..resources.context import Context
from ..resources.gateway import service as gateway
from ..resources.resource import Change, Risk, Verb
from ..spec.rollout import count_of

GATEWAYS = "gateway"
"""Name of the service of all gateways in plans, in messages and for `--allow-downtime`."""
_RESTARTS_ARE_CHANGES = frozenset({"package", "environment", "model", "credential"})
"""Resource types that interrupt no server by themselves: the plan contains each restart that they require."""


@dataclass(frozen=True, order=True)
class Server:
    """One server: `service` is the name of its pool, or `GATEWAYS`; `name` is unique within it."""

    service: str
    name: str

    @property
    def is_gateway(self) -> bool:
        """Whether the server is a gateway."""
        return self.service == GATEWAYS


@dataclass(frozen=True)
class Capacity:
    """Servers of one service during a wave.

    Args:
        service: name of a pool, or `GATEWAYS`.
        before: servers that serve when the wave begins.
        during: servers that serve while it runs.
        total: servers of site.yaml.
        floor: servers that must keep serving.
    """

    service: str
    before: int
    during: int
    total: int
    floor: int

    @property
    def is_kept(self) -> bool:
        """Whether the service stays at or above its floor."""
        return self.during >= self.floor

    def __str__(self) -> str:
        noun = "gateways" if self.service == GATEWAYS else self.service
        return f"{noun} {self.during}/{self.total} serving (floor {self.floor})"


@dataclass(frozen=True)
class Serving:
    """The servers of a site, and their nodes."""

    context: Context

    @cached_property
    def nodes(self) -> dict[Server, tuple[str, ...]]:
        """Nodes of each server: of all ranks of a replica."""
        found = {_replica(each): tuple(rank.node for rank in each.ranks) for each in self.context.replicas}
        return found | {Server(GATEWAYS, node.name): (node.name,) for node in self.context.gateway_nodes}

    @cached_property
    def on_node(self) -> dict[str, list[Server]]:
        """Servers with a part on a node, by node; nodes without servers are absent."""
        found: dict[str, list[Server]] = {}
        for server, nodes in self.nodes.items():
            for node in nodes:
                found.setdefault(node, []).append(server)
        return found

    @cached_property
    def totals(self) -> dict[str, int]:
        """Number of servers by service."""
        return dict(Counter(server.service for server in self.nodes))

    @cached_property
    def floors(self) -> dict[str, int]:
        """Number of servers that must keep serving, by service."""
        spec = self.context.spec
        chosen = {each.name: each.min_serving for each in spec.pools}
        if spec.gateway is not None:
            chosen[GATEWAYS] = spec.gateway.min_serving
        default = spec.rollout.min_serving
        return {name: count_of(chosen[name] or default, total) for name, total in self.totals.items()}

    def now(self, facts: Mapping[str, NodeFacts]) -> frozenset[Server]:
        """Return the servers whose units are active on all their nodes."""
        active = {
            (name, unit)
            for name, each in facts.items()
            for unit, state in each.units.items()
            if state.active == "active"
        }
        found = {
            _replica(each)
            for each in self.context.replicas
            if all((rank.node, pool.unit_name(each)) in active for rank in each.ranks)
        }
        names = [node.name for node in self.context.gateway_nodes if (node.name, gateway.UNIT) in active]
        return frozenset(found | {Server(GATEWAYS, name) for name in names})

    def interrupted(self, changes: Iterable[Change]) -> frozenset[Server]:
        """Return the servers that changes stop, restart or disconnect."""
        found: set[Server] = set()
        for change in changes:
            here = self.on_node.get(change.node, [])
            if change.kind == pool.RESOURCE_TYPE.name:
                if change.verb is not Verb.CREATE:
                    found.update(each for each in here if each.name == change.name and each.service != GATEWAYS)
            elif change.kind == gateway.RESOURCE_TYPE.name:
                if change.verb is not Verb.CREATE:
                    found.update(each for each in here if each.service == GATEWAYS)
            elif change.kind not in _RESTARTS_ARE_CHANGES and _cuts(change):
                found.update(here)
        return frozenset(found)

    def capacities(self, serving: Iterable[Server], taken: Collection[Server]) -> tuple[Capacity, ...]:
        """Return the capacity of every service that loses a server, in the order of site.yaml.

        Args:
            serving: servers that serve before.
            taken: those of `serving` that are interrupted.
        """
        before = Counter(server.service for server in serving)
        lost = Counter(server.service for server in taken)
        return tuple(
            Capacity(service, before[service], before[service] - lost[service], total, self.floors[service])
            for service, total in self.totals.items()
            if lost[service]
        )

    def all_capacities(self, serving: Iterable[Server]) -> tuple[Capacity, ...]:
        """Return the capacity of every service, in the order of site.yaml."""
        count = Counter(server.service for server in serving)
        return tuple(
            Capacity(service, count[service], count[service], total, self.floors[service])
            for service, total in self.totals.items()
        )


def _replica(replica: Replica) -> Server:
    return Server(replica.pool, pool.instance(replica))


def _cuts(change: Change) -> bool:
    """Return whether a change of a resource that several servers use interrupts them."""
    if change.risk in (Risk.WORKLOAD, Risk.CONNECTION, Risk.REBOOT):
        return True
    return change.kind == "service" and change.verb is not Verb.CREATE
