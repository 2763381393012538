"""Nodes, racks, switches and disks that the pools of a site need. Pure.

    layout = site_layout(spec, catalog, sizings)
    layout.groups[0].nodes, layout.groups[0].racks, layout.problems

If the power of a node is unknown, its racks are not computed, and `problems` contains the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from ...catalog import Catalog
from ...catalog.platforms import Platform
from ...spec import NodeGroup, SiteSpec
from ...spec.sizing_inputs import RackSpace
from ..demand.reserve import replicas_with_reserve
from ..pool.pool import PoolSizing
from .scalable_units import UnitShare, shares


@dataclass(frozen=True, slots=True)
class Switches:
    """A rail-optimized fabric: NIC i of every node is connected to leaf i of its group of nodes."""

    rails: int
    leaves: int
    spines: int
    cables: int
    """Cables from nodes to leaves and between tiers."""
    cores: int = 0
    """Switches of a third tier; 0 if two tiers suffice."""


def switches(nodes: int, rails: int, ports: int) -> Switches | None:
    """Return the switches of a non-blocking fabric for `nodes` nodes; None if three tiers do not suffice.

    One switch is used if it has enough ports. Otherwise half of a leaf's ports connect nodes, as in NVIDIA's DGX
    SuperPOD: with 64-port switches, 64 nodes of 8 rails have 16 leaves and 8 spines, 256 nodes have 64 and 32, and 512
    nodes have 128, 128 and 64 cores.

    Source: docs.nvidia.com, DGX SuperPOD reference architecture B200, table of larger counts, read 2026-11-22.
    """
    if nodes < 2 or rails < 1:
        return Switches(rails, 0, 0, 0)
    if nodes * rails <= ports:
        return Switches(rails, 1, 0, nodes * rails)
    down = ports // 2
    leaves = rails * ceil(nodes / down)
    up = leaves * (ports - down)
    if leaves <= ports:
        return Switches(rails, leaves, ceil(up / ports), nodes * rails + up)
    if nodes * rails > ports * down * down:  # capacity of three tiers
        return None
    # With cores, half of a spine's ports connect to leaves and half to cores, so that the fabric does not block.
    return Switches(rails, leaves, ceil(up / down), nodes * rails + 2 * up, ceil(up / ports))


@dataclass(frozen=True, slots=True)
class GroupLayout:
    """Machines of one node group."""

    name: str
    platform: Platform
    there: int
    """Nodes in site.yaml."""
    nodes: int
    """Nodes that its pools need with reserve; at least 1 if it has pools."""
    node_kw: float | None
    nodes_per_rack: int | None
    racks: int | None
    switches: Switches | None
    store_bytes: float
    """Weights on the node with the most, for all stored versions, in bytes."""
    units: tuple[UnitShare, ...] = ()
    """The nodes as SuperPOD units, for each architecture of the platform."""
    gpus_needed: int = 0
    """GPUs of all its pools with reserve, spread over `nodes`."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Machines of the whole site."""

    groups: tuple[GroupLayout, ...]
    problems: tuple[str, ...]
    """Conflicts with the rack space, and unknown figures."""

    @property
    def kw(self) -> float | None:
        """Power of all nodes in kW; None if the power of a node is unknown."""
        parts = [None if each.node_kw is None else each.node_kw * each.nodes for each in self.groups]
        return None if None in parts else sum(part for part in parts if part is not None)

    @property
    def racks(self) -> int | None:
        """Racks of all groups; None if the number is unknown for a group."""
        parts = [each.racks for each in self.groups]
        return None if None in parts else sum(part for part in parts if part is not None)


def nodes_for(replicas: Iterable[tuple[int, int]], gpus: int) -> int:
    """Return the nodes with `gpus` GPUs that hold all replicas: best fit, largest replicas first.

    Nodes with the same number of free GPUs are counted together, so the run time does not depend on their number.

    Args:
        replicas: (count, GPUs per replica); a replica larger than a node uses whole nodes.
    """
    left_on: Counter[int] = Counter()  # number of nodes by their free GPUs
    count = 0
    for number, size in sorted(replicas, key=lambda each: -each[1]):
        if size >= gpus:
            count += number * ceil(size / gpus)
            continue
        wanted = number
        for left in sorted(left for left in left_on if left >= size):
            placed = min(wanted, left_on[left] * (left // size))
            _fill(left_on, left, placed, size)
            wanted -= placed
        opened = ceil(wanted / (gpus // size))
        count += opened
        left_on[gpus] += opened
        _fill(left_on, gpus, wanted, size)
    return count


def _fill(left_on: Counter[int], left: int, placed: int, size: int) -> None:
    """Place `placed` replicas of `size` GPUs on nodes with `left` free GPUs, one node after the other."""
    each = left // size
    full, rest = divmod(placed, each)
    left_on[left] -= full + (rest > 0)
    left_on[left - each * size] += full
    if rest:
        left_on[left - rest * size] += 1


def nodes_with_reserve(on_it: Sequence[PoolSizing], gpus: int) -> tuple[int, int]:
    """Return the fewest nodes that carry the pools with reserve, and the GPUs used on them.

    The replicas needed depend on the number of nodes: with more nodes, each failed node takes fewer replicas with it.
    The number of replicas therefore does not increase with the nodes, and a binary search finds the minimum.
    """
    reserve = on_it[0].case.reserve
    away = reserve.failed_nodes + reserve.maintenance_nodes if any(each.need for each in on_it) else 0

    def shapes(nodes: int) -> list[tuple[int, int]]:
        return [(pool_replicas(each, nodes), each.case.pool.gpus_per_replica) for each in on_it]

    few = away + 1
    enough = max(few, nodes_for(shapes(few), gpus))
    while few < enough:
        middle = (few + enough) // 2
        few, enough = (few, middle) if nodes_for(shapes(middle), gpus) <= middle else (middle + 1, enough)
    return enough, sum(count * size for count, size in shapes(enough))


def pool_replicas(sized: PoolSizing, nodes: int) -> int:
    """Return the replicas that a pool needs with reserve on `nodes` nodes; without a workload, those of site.yaml."""
    case, need = sized.case, sized.need
    if need is None:
        return case.pool.replicas
    spread = len(case.pool.nodes) or nodes
    found = replicas_with_reserve(need.replicas, case.reserve, nodes=spread, replicas_per_node=case.replicas_per_node)
    return need.replicas + case.reserve.spare_replicas if found is None else found


def site_layout(spec: SiteSpec, catalog: Catalog, sizings: Sequence[PoolSizing]) -> Layout:
    """Return the machines for the sized pools, and for node groups without GPUs."""
    problems: list[str] = []
    groups = tuple(_group(spec, catalog, group, sizings, problems) for group in spec.node_groups)
    rack_space = spec.sizing.racks
    layout = Layout(groups, ())
    if (
        rack_space is not None
        and rack_space.count is not None
        and layout.racks is not None
        and layout.racks > rack_space.count
    ):
        problems.append(f"expected at most {rack_space.count} racks (sizing.racks.count), got {layout.racks}")
    return Layout(groups, tuple(problems))


def _group(
    spec: SiteSpec, catalog: Catalog, group: NodeGroup, sizings: Sequence[PoolSizing], problems: list[str]
) -> GroupLayout:
    machine, rack_space = catalog.machine(group), spec.sizing.racks
    platform = machine[0] if machine else catalog.platforms[group.platform]  # devices of several sizes
    on_it = [sized for sized in sizings if sized.case.pool.node_group == group.name]
    of_sizes: dict[str | None, list[PoolSizing]] = {}
    for sized in on_it:
        of_sizes.setdefault(sized.case.mig, []).append(sized)
    found = [nodes_with_reserve(each, each[0].case.platform.gpus) for each in of_sizes.values()]
    nodes = max((count for count, _ in found), default=len(group.nodes))
    gpus = sum(used for _, used in found)
    kw = _node_kw(platform, group.name, rack_space)
    per_rack = racks = None
    if rack_space is not None:
        per_rack = _nodes_per_rack(platform, group.name, kw, rack_space, problems)
        racks = ceil(nodes / per_rack) if per_rack else None
    rails = platform.checks.compute_nics
    fabric = None
    if rails is not None and isinstance(rails.value, int) and on_it:
        fabric = switches(nodes, rails.value, spec.sizing.fabric.switch_ports)
        if fabric is None:
            ports = spec.sizing.fabric.switch_ports
            problems.append(
                f"{group.name}: {nodes} nodes exceed three tiers of {ports}-port switches; switches not computed"
            )
    store = _store_bytes(group, on_it) * spec.sizing.storage.versions
    units = shares(catalog.scalable_units, platform, nodes)
    return GroupLayout(group.name, platform, len(group.nodes), nodes, kw, per_rack, racks, fabric, store, units, gpus)


def _store_bytes(group: NodeGroup, on_it: Sequence[PoolSizing]) -> float:
    """Return the bytes of weights on the node with the most models; each model is stored once."""
    most = 0.0
    for node in group.nodes:
        here = [each for each in on_it if not each.case.pool.nodes or node.name in each.case.pool.nodes]
        models = {each.case.pool.model: each.weights.total_bytes() for each in here if each.weights is not None}
        most = max(most, sum(models.values()))
    return most


def _node_kw(platform: Platform, name: str, rack_space: RackSpace | None) -> float | None:
    if rack_space is not None and name in rack_space.node_kw:
        return rack_space.node_kw[name]
    if platform.max_power_kw is None:
        return None
    # The catalogue contains the power of the whole system; a node of a rack-scale system draws its fraction.
    return platform.max_power_kw * (platform.gpus / platform.system_gpus if platform.system_gpus else 1)


def _nodes_per_rack(
    platform: Platform, name: str, kw: float | None, rack_space: RackSpace, problems: list[str]
) -> int | None:
    if kw is None:
        problems.append(f"{name}: the power of a {platform.id} is unknown; set sizing.racks.node_kw.{name}")
        return None
    if "liquid" in platform.form and rack_space.cooling != "liquid":
        problems.append(
            f"{name}: {platform.id} requires liquid cooling, but sizing.racks.cooling is {rack_space.cooling}"
        )
    whole = platform.system_gpus // platform.gpus if platform.gpus and platform.system_gpus else 1
    if whole > 1:  # a rack-scale system: its nodes share one rack
        if kw * whole > rack_space.rack_kw:
            problems.append(
                f"{name}: one rack of {platform.id} draws {kw * whole:g} kW, above "
                f"sizing.racks.rack_kw = {rack_space.rack_kw:g}"
            )
            return None
        return whole
    by_power = int(rack_space.rack_kw / kw + 1e-9)
    if by_power == 0:
        problems.append(
            f"{name}: one {platform.id} draws {kw:g} kW, above sizing.racks.rack_kw = {rack_space.rack_kw:g}"
        )
        return None
    height = re.match(r"(\d+)U", platform.form)
    if height is None:
        return by_power
    return max(1, min(by_power, (rack_space.rack_units - rack_space.free_units) // int(height[1])))
