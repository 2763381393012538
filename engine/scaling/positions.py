"""Positions of replicas for every number of replicas within the bounds. Pure.

- Each replica up to `maximum_replicas` has one position: node, GPUs and port. No move needs a new placement.
- Replicas below `replicas` of a pool have the position of `placement`. A further replica uses, on one node, unassigned
  GPUs, then those of replicas of other pools (lenders). Lenders have an index of at least their `minimum_replicas`.
  Each pool can therefore be at its maximum while all others are at their minimum.
- Two replicas conflict if they have a GPU in common. At most one of them holds its GPUs.

    positions(spec, catalog)[ReplicaId("code", 2)].gpus    # (4, 5): of ReplicaId("chat", 1)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from sovctl.support.errors import Problem

from ..catalog import Catalog
from ..catalog.mig_layout import usable_by
from ..placement import Replica, try_assign_gpus
from ..spec import Pool, SiteSpec


@dataclass(frozen=True, order=True)
class ReplicaId:
    """Name of a replica.

    Args:
        index: 0 to `maximum_replicas` - 1.
    """

    pool: str
    index: int

    def __str__(self) -> str:
        return f"{self.pool}/{self.index}"


@dataclass(frozen=True)
class Position:
    """Place of a replica.

    Args:
        node: that serves the API.
        gpus: pairs of node and GPU index, sorted.
        port: of the API.
    """

    node: str
    gpus: tuple[tuple[str, int], ...]
    port: int

    def conflicts(self, other: Position) -> bool:
        """Return whether two positions have a GPU in common."""
        return not set(self.gpus).isdisjoint(other.gpus)


Positions = Mapping[ReplicaId, Position]


def positions(spec: SiteSpec, catalog: Catalog) -> Positions:
    """Return the position of every replica of the scaled pools, in the order of the section `scaling`.

    Further replicas without a position are absent; `check_scaling` reports them.
    """
    return try_positions(spec, catalog)[0]


def try_positions(spec: SiteSpec, catalog: Catalog) -> tuple[Positions, list[Problem]]:
    """Return the positions, and a problem for each pool whose maximum has no position."""
    if spec.scaling is None:
        return {}, []
    placed, _ = try_assign_gpus(spec, catalog)
    pools = {pool.name: pool for pool in spec.pools}
    scaled = [each for each in spec.scaling.pools if each.pool in pools]
    lendable = {each.pool: each.minimum_replicas for each in scaled}
    found: dict[ReplicaId, Position] = {}
    problems = []
    for index, each in enumerate(spec.scaling.pools):
        if each.pool not in pools:
            continue
        own = [replica for replica in placed if replica.pool == each.pool]
        found.update({ReplicaId(each.pool, one.index): _placed(one) for one in own[: each.maximum_replicas]})
        pool = pools[each.pool]
        further = each.maximum_replicas - pool.replicas
        problems += _shared(own, placed, scaled=lendable, where=f"scaling.pools[{index}].pool")
        if further <= 0 or len(own) < pool.replicas:
            continue
        borrowed = list(_borrowed(spec, catalog, pool, placed, lendable))
        ports = _Ports(pool, own, placed)
        for number, (node, gpus) in enumerate(borrowed[:further]):
            replica = ReplicaId(each.pool, pool.replicas + number)
            found[replica] = Position(node, tuple((node, gpu) for gpu in gpus), ports.next(node))
        if len(borrowed) < further:
            problems.append(
                Problem(
                    f"expected at most {pool.replicas + len(borrowed)} replicas, because nodes of pool {pool.name} "
                    f"have no more GPUs that are unassigned or above a minimum, got {each.maximum_replicas}",
                    where=f"scaling.pools[{index}].maximum_replicas",
                    hint="lower it, or lower minimum_replicas of a pool on the same nodes",
                )
            )
    return found, problems


def _placed(replica: Replica) -> Position:
    gpus = tuple(sorted((rank.node, gpu) for rank in replica.ranks for gpu in rank.gpus))
    return Position(replica.head, gpus, replica.port)


def _shared(own: list[Replica], placed: list[Replica], *, scaled: Collection[str], where: str) -> list[Problem]:
    """Return a problem if deployed replicas of the pool and of another scaled pool have a GPU in common."""
    gpus = {gpu for each in own for gpu in _placed(each).gpus}
    for other in placed:
        if (
            own
            and other.pool in scaled
            and other.pool != own[0].pool
            and (common := gpus.intersection(_placed(other).gpus))
        ):
            node, gpu = min(common)
            return [
                Problem(
                    f"expected its own GPUs, got GPU {gpu} of {node}, which pool {other.pool} has too",
                    where=where,
                    hint="remove pools that share GPUs in turns from `scaling`",
                )
            ]
    return []


def _borrowed(
    spec: SiteSpec, catalog: Catalog, pool: Pool, placed: list[Replica], lendable: Mapping[str, int]
) -> Iterator[tuple[str, list[int]]]:
    """Yield (node, GPU indices) for further replicas of a pool: unassigned GPUs, then lenders, highest index first."""
    group = next((each for each in spec.node_groups if each.name == pool.node_group), None)
    devices = catalog.devices(group) if group else None
    is_divided = any(len(each.ranks) > 1 for each in placed if each.pool == pool.name)
    if group is None or devices is None or is_divided:
        return  # a replica over several nodes has no further positions
    nodes = pool.nodes or [node.name for node in group.nodes]
    usable = usable_by(devices, pool)
    held = {(rank.node, gpu) for each in placed for rank in each.ranks for gpu in rank.gpus}
    offers = [(node, [gpu for gpu in usable if (node, gpu) not in held]) for node in nodes]
    for lender in sorted(placed, key=lambda each: -each.index):
        is_lender = lender.pool != pool.name and lender.index >= lendable.get(lender.pool, lender.index + 1)
        if is_lender and len(lender.ranks) == 1 and lender.head in nodes:
            offers.append((lender.head, [gpu for gpu in lender.ranks[0].gpus if gpu in usable]))
    free: dict[str, list[int]] = defaultdict(list)
    size = pool.gpus_per_replica
    for node, gpus in offers:
        free[node] += gpus
        while len(free[node]) >= size:
            yield node, sorted(free[node][:size])
            free[node] = free[node][size:]


class _Ports:
    """Ports of further replicas: after the pool's own ones, without the ports of other pools on the node."""

    def __init__(self, pool: Pool, own: list[Replica], placed: list[Replica]) -> None:
        self._next = {
            node: max((each.port for each in own if each.head == node), default=pool.port - 1) + 1
            for node in {each.head for each in placed}
        }
        self._used = {(each.head, each.port) for each in placed}

    def next(self, node: str) -> int:
        port = self._next[node]
        while (node, port) in self._used:
            port += 1
        self._next[node] = port + 1
        return port
