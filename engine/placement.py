"""Assigns GPUs to the replicas of every pool. Pure: the same site.yaml and catalogue give the same placement.

Rules, in this order:

1. A stage (tensor or data parallelism) is on one node, or on exactly `nodes_per_stage` with the same number of GPUs on
   each. The stages of a pipeline may be on several nodes, with the same number on each. vLLM: "tensor parallel size =
   GPUs per node, pipeline parallel size = nodes", docs/serving/parallelism_scaling.md.
2. Pinned pools (`gpus`) are placed first, then pools by GPUs per node in descending order, then the order of the file.
   A small pool therefore does not fragment a node that a large pool needs.
3. A replica uses as few nodes as possible. Replicas of one pool are spread, so that a failed node does not stop the
   pool: the node with the fewest replicas of the pool is next, then the order of `pool.nodes` or of the group.
4. On a node, the lowest free GPU indices are used.
5. The pools of a swap group, or of an MPS group, have the GPUs of the first of them that is placed.

    [Replica(pool="chat", index=0, ranks=(Rank(node="n1", gpus=(0, 1), node_rank=0),), port=8000)]
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from sovctl.support.errors import Problem, SpecError

from .catalog import Catalog, load_catalog
from .catalog.mig_layout import usable_by
from .spec import NodeGroup, Pool, SiteSpec


@dataclass(frozen=True)
class Rank:
    """The server process of a replica on one node.

    Args:
        gpus: positions in `Catalog.devices` of the node, ascending: GPUs per stage x stages on this node. Without MIG,
            they are the indices of the GPUs.
        node_rank: vLLM's --node-rank; 0 is the head, which serves the API.
    """

    node: str
    gpus: tuple[int, ...]
    node_rank: int


@dataclass(frozen=True)
class Replica:
    """One server of a pool.

    Args:
        index: 0 to pool.replicas - 1.
        ranks: one per node, by node_rank.
        port: API port of the endpoints: pool.port for the first replica of the pool on these nodes, then consecutive
            ports.
        every_node_serves: see `Pool.every_node_serves`.
    """

    pool: str
    index: int
    ranks: tuple[Rank, ...]
    port: int
    every_node_serves: bool = False

    @property
    def head(self) -> str:
        """Name of the node of rank 0."""
        return self.ranks[0].node

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Names of the nodes that serve the API, by rank."""
        return tuple(rank.node for rank in self.ranks) if self.every_node_serves else (self.head,)


def assign_gpus(spec: SiteSpec, catalog: Catalog | None = None) -> list[Replica]:
    """Return every replica, in the order of the file.

    Raises:
        SpecError: a pool does not fit; validation reports this before.
    """
    replicas, problems = try_assign_gpus(spec, catalog or load_catalog())
    if problems:
        raise SpecError(problems)
    return replicas


def try_assign_gpus(spec: SiteSpec, catalog: Catalog) -> tuple[list[Replica], list[Problem]]:
    """Return the placed replicas in the order of the file, and a problem for every pool that does not fit.

    Pools with an unknown node group, node or platform are in neither; another rule reports them.
    """
    allocator = GpuAllocator(spec, catalog)
    problems: dict[int, list[Problem]] = {}
    placed: dict[int, list[Replica]] = {}
    for index in sorted(range(len(spec.pools)), key=allocator.order_key):
        placed[index], problems[index] = allocator.place_pool(index)
    order = range(len(spec.pools))
    return [each for index in order for each in placed[index]], [each for index in order for each in problems[index]]


def too_large(spec: SiteSpec, catalog: Catalog) -> list[Problem]:
    """Return a problem for every pool with a stage larger than a node of its group, in the order of the file."""
    allocator = GpuAllocator(spec, catalog)
    return [problem for index in range(len(spec.pools)) if (problem := allocator.too_large(index)) is not None]


class GpuAllocator:
    """Assigns the GPUs of all nodes to pools."""

    def __init__(self, spec: SiteSpec, catalog: Catalog) -> None:
        self.pools = spec.pools
        self._groups: dict[str, NodeGroup] = {group.name: group for group in spec.node_groups}
        self._devices = {
            group.name: devices for group in spec.node_groups if (devices := catalog.devices(group)) is not None
        }
        self._gpus = {name: len(devices) for name, devices in self._devices.items()}
        self._holder: dict[tuple[str, int], str] = {}
        self._shared: dict[str, tuple[Pool, list[Replica]]] = {}

    def order_key(self, index: int) -> tuple[bool, int, int]:
        """Sort key: pinned pools, then most GPUs per node, then the order of the file."""
        pool = self.pools[index]
        return not pool.gpus, -self._shapes(pool)[0][1] if self._shapes(pool) else 0, index

    def place_pool(self, index: int) -> tuple[list[Replica], list[Problem]]:
        """Place all replicas of one pool; return the replicas, or the problem."""
        pool, where = self.pools[index], f"pools[{index}]"
        nodes = self._nodes(pool)
        if not nodes:
            return [], []
        if pool.sharing_group in self._shared:
            first, shared = self._shared[pool.sharing_group]
            return [replace(each, pool=pool.name, port=each.port - first.port + pool.port) for each in shared], []
        problem = self._too_large(pool, where) or self._held_pins(pool, where, nodes)
        if problem:
            return [], [problem]
        for node_count, gpus_each in self._shapes(pool):
            trial = self._try_shape(pool, nodes, node_count, gpus_each)
            if trial is not None:
                self._holder.update(
                    {(rank.node, gpu): pool.name for replica in trial for rank in replica.ranks for gpu in rank.gpus}
                )
                if pool.sharing_group is not None:
                    self._shared[pool.sharing_group] = (pool, trial)
                return trial, []
        return [], [self._no_room(pool, where, nodes)]

    def too_large(self, index: int) -> Problem | None:
        """Return the problem if no node can hold a stage of the pool; None also if its nodes are unknown."""
        pool = self.pools[index]
        return self._too_large(pool, f"pools[{index}]") if self._nodes(pool) else None

    def _nodes(self, pool: Pool) -> list[str]:
        if pool.node_group not in self._gpus:
            return []
        names = [node.name for node in self._groups[pool.node_group].nodes]
        return [name for name in dict.fromkeys(pool.nodes) if name in names] if pool.nodes else names

    def _usable(self, pool: Pool) -> list[int]:
        """Return the GPUs of a node that the pool may use, by their positions in `Catalog.devices`."""
        return usable_by(self._devices.get(pool.node_group, ()), pool)

    def _shapes(self, pool: Pool) -> list[tuple[int, int]]:
        """Return (nodes of a replica, GPUs on each), fewest nodes first; empty if one stage does not fit a node."""
        stage, pipeline = pool.gpus_per_stage, pool.pipeline_parallel_size
        if pool.nodes_per_stage > 1:
            gpus_each, rest = divmod(stage, pool.nodes_per_stage)
            fits = rest == 0 and gpus_each <= len(self._usable(pool))
            return [(pipeline * pool.nodes_per_stage, gpus_each)] if fits else []
        most = len(self._usable(pool)) // stage
        stages = [count for count in range(min(most, pipeline), 0, -1) if pipeline % count == 0]
        return [(pipeline // count, count * stage) for count in stages]

    def _too_large(self, pool: Pool, where: str) -> Problem | None:
        count = self._gpus[pool.node_group]
        platform = self._groups[pool.node_group].platform
        if count == 0:
            return Problem(
                f"expected a group with GPUs, got `{pool.node_group}` of platform {platform}",
                where=f"{where}.node_group",
                hint="name a group of GPU nodes",
            )
        beyond = [gpu for gpu in pool.gpus if gpu >= count]
        if beyond:
            return Problem(
                f"expected GPU indices from 0 to {count - 1} on platform {platform}, got {beyond[0]}",
                where=f"{where}.gpus",
                hint="omit `gpus` for automatic assignment",
            )
        if self._shapes(pool):
            return None
        if pool.gpus_per_stage % pool.nodes_per_stage:
            return Problem(
                f"expected a divisor of the {pool.gpus_per_stage} GPUs of a stage, got {pool.nodes_per_stage}",
                where=f"{where}.nodes_per_stage",
                hint="each node has the same number of GPUs of a stage",
            )
        usable, nodes = len(self._usable(pool)), pool.nodes_per_stage
        what = f"pinned on {usable}" if pool.gpus else f"{usable} on one node of {platform}"
        what += f", {nodes} nodes per stage" if nodes > 1 else ""
        return Problem(
            f"expected at most {usable * nodes} GPUs per stage ({what}), got {pool.gpus_per_stage}",
            where=f"{where}.{'data' if pool.data_parallel_size > 1 else 'tensor'}_parallel_size",
            hint="use pipeline_parallel_size for a model larger than a node",
        )

    def _held_pins(self, pool: Pool, where: str, nodes: list[str]) -> Problem | None:
        held = [(node, gpu) for node in nodes for gpu in sorted(set(pool.gpus)) if (node, gpu) in self._holder]
        if not held:
            return None
        node, gpu = held[0]
        return Problem(
            f"expected unassigned GPUs, got GPU {gpu} of {node}, assigned to pool {self._holder[held[0]]}",
            where=f"{where}.gpus",
            hint=f"use free GPUs: {self._free_text(node)}",
        )

    def _try_shape(self, pool: Pool, nodes: list[str], node_count: int, gpus_each: int) -> list[Replica] | None:
        usable = self._usable(pool)
        free = {node: [gpu for gpu in usable if (node, gpu) not in self._holder] for node in nodes}
        # Heap of (replicas on the node, position in the order, node).
        turns = [(0, place, node) for place, node in enumerate(nodes) if len(free[node]) >= gpus_each]
        used_ports: Counter[str] = Counter()
        found = []
        for index in range(pool.replicas):
            if len(turns) < node_count:
                return None
            chosen = [heappop(turns) for _ in range(node_count)]
            ranks = []
            for node_rank, (count, place, node) in enumerate(chosen):
                ranks.append(Rank(node, tuple(free[node][:gpus_each]), node_rank))
                free[node] = free[node][gpus_each:]
                if len(free[node]) >= gpus_each:
                    heappush(turns, (count + 1, place, node))
            replica = Replica(pool.name, index, tuple(ranks), pool.port, pool.every_node_serves)
            offset = max(used_ports[node] for node in replica.endpoints)
            found.append(replace(replica, port=pool.port + offset))
            used_ports |= Counter(dict.fromkeys(replica.endpoints, offset + 1))
        return found

    def _no_room(self, pool: Pool, where: str, nodes: list[str]) -> Problem:
        node_count, gpus_each = self._shapes(pool)[0]
        each = f"{gpus_each} GPU{'s' if gpus_each > 1 else ''}"
        each += f" on {node_count} nodes" if node_count > 1 else ""
        shown = [self._node_text(node) for node in nodes[:4]] + (["..."] if len(nodes) > 4 else [])
        return Problem(
            f"expected room for {pool.replicas} x {each} on {len(nodes)} node{'s' if len(nodes) > 1 else ''}, got "
            + "; ".join(shown),
            where=f"{where}.replicas" if pool.replicas > 1 else where,
            hint="use fewer replicas, fewer GPUs per replica, other nodes, or take GPUs from another pool",
        )

    def _node_text(self, node: str) -> str:
        holders: dict[str, list[int]] = {}
        for (name, gpu), pool in sorted(self._holder.items()):
            if name == node:
                holders.setdefault(pool, []).append(gpu)
        held = ", ".join(f"{pool} holds {_ranges(gpus)}" for pool, gpus in holders.items())
        return f"{node} ({held + ', ' if held else ''}free {self._free_text(node)})"

    def _free_text(self, node: str) -> str:
        group = next(group for group in self._groups.values() if any(each.name == node for each in group.nodes))
        free = [gpu for gpu in range(self._gpus[group.name]) if (node, gpu) not in self._holder]
        return _ranges(free) or "none"


def _ranges(numbers: list[int]) -> str:
    """Return ascending numbers such as `[0, 1, 2, 5]` as "0-2, 5"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
