"""From pools to nodes, racks, switches and disks: what a site's hall must hold. Pure.

    layout = site_layout(spec, catalog, sizings)
    layout.groups[0].nodes, layout.groups[0].racks, layout.problems

A node whose power or height nobody has written down is not guessed: its racks are not reckoned, and the layout says so.
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
    """A rail-optimised fabric: NIC number i of every node is on leaf i of its group of nodes."""

    rails: int
    leaves: int
    spines: int
    cables: int
    """From nodes to leaves, and from tier to tier."""
    cores: int = 0
    """Of a third tier, where two are not enough."""


def switches(nodes: int, rails: int, ports: int) -> Switches | None:
    """What joins `nodes` nodes without blocking; None where three tiers are not enough.

    One switch does where all links fit. Else half of a leaf's ports go down, as in NVIDIA's DGX SuperPOD: with 64-port
    switches, 64 nodes of 8 rails have 16 leaves and 8 spines, 256 have 64 and 32, and 512 have 128, 128 and 64 cores
    (docs.nvidia.com, DGX SuperPOD reference architecture B200, table of larger counts, read 2026-11-22).
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
    if nodes * rails > ports * down * down:  # what three tiers of such switches hold
        return None
    # Half of a spine's ports go down as well, so that as much goes up to the cores as comes.
    return Switches(rails, leaves, ceil(up / down), nodes * rails + 2 * up, ceil(up / ports))


@dataclass(frozen=True, slots=True)
class GroupLayout:
    """One node group."""

    name: str
    platform: Platform
    there: int
    """Nodes in site.yaml."""
    nodes: int
    """Nodes that its pools need with reserve; at least one where pools are on it."""
    node_kw: float | None
    nodes_per_rack: int | None
    racks: int | None
    switches: Switches | None
    store_bytes: float
    """Weights on the node that holds most, of all versions kept."""
    units: tuple[UnitShare, ...] = ()
    """The nodes as SuperPOD units, of each architecture that has the platform."""
    gpus_needed: int = 0
    """Of all its pools with reserve, spread over `nodes`."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole site."""

    groups: tuple[GroupLayout, ...]
    problems: tuple[str, ...]
    """What does not go together, or is not known."""

    @property
    def kw(self) -> float | None:
        """Power of all nodes; None where one's is not known."""
        parts = [None if each.node_kw is None else each.node_kw * each.nodes for each in self.groups]
        return None if None in parts else sum(part for part in parts if part is not None)

    @property
    def racks(self) -> int | None:
        """Of all groups; None where one's is not known."""
        parts = [each.racks for each in self.groups]
        return None if None in parts else sum(part for part in parts if part is not None)


def nodes_for(replicas: Iterable[tuple[int, int]], gpus: int) -> int:
    """Nodes of `gpus` GPUs that hold so many replicas of so many GPUs; the largest first, each where it fits best.

    Nodes with as many GPUs left are counted together, so that it takes no longer for a million replicas.

    Args:
        replicas: (how many, GPUs of each); one that is larger than a node takes whole nodes.
    """
    left_on: Counter[int] = Counter()  # nodes by the GPUs that they have left
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
    """Put `placed` replicas of `size` GPUs on nodes that have `left`, each filled before the next."""
    each = left // size
    full, rest = divmod(placed, each)
    left_on[left] -= full + (rest > 0)
    left_on[left - each * size] += full
    if rest:
        left_on[left - rest * size] += 1


def nodes_with_reserve(on_it: Sequence[PoolSizing], gpus: int) -> tuple[int, int]:
    """The fewest nodes on which the pools are enough when those that may go are away, and the GPUs taken of them.

    More nodes spread a pool thinner, so that each takes less with it: how many replicas are needed depends on them, and
    is never more on more nodes.
    """
    reserve = on_it[0].case.reserve
    away = reserve.failed_nodes + reserve.maintenance_nodes if any(each.need for each in on_it) else 0

    def shapes(nodes: int) -> list[tuple[int, int]]:
        return [(_wanted_replicas(each, nodes), each.case.pool.gpus_per_replica) for each in on_it]

    few = away + 1
    enough = max(few, nodes_for(shapes(few), gpus))
    while few < enough:
        middle = (few + enough) // 2
        few, enough = (few, middle) if nodes_for(shapes(middle), gpus) <= middle else (middle + 1, enough)
    return enough, sum(count * size for count, size in shapes(enough))


def _wanted_replicas(sized: PoolSizing, nodes: int) -> int:
    """Replicas that a pool needs with reserve on so many nodes; those it has where nobody says what it needs."""
    case, need = sized.case, sized.need
    if need is None:
        return case.pool.replicas
    spread = len(case.pool.nodes) or nodes
    found = replicas_with_reserve(need.replicas, case.reserve, nodes=spread, replicas_per_node=case.replicas_per_node)
    return need.replicas + case.reserve.spare_replicas if found is None else found


def site_layout(spec: SiteSpec, catalog: Catalog, sizings: Sequence[PoolSizing]) -> Layout:
    """Nodes, racks, switches and disks for the pools that were sized, and for the groups without GPUs."""
    problems: list[str] = []
    groups = tuple(_group(spec, catalog, group, sizings, problems) for group in spec.node_groups)
    hall = spec.sizing.racks
    layout = Layout(groups, ())
    if hall is not None and hall.count is not None and layout.racks is not None and layout.racks > hall.count:
        problems.append(f"expected at most {hall.count} racks (sizing.racks.count), got {layout.racks}")
    return Layout(groups, tuple(problems))


def _group(
    spec: SiteSpec, catalog: Catalog, group: NodeGroup, sizings: Sequence[PoolSizing], problems: list[str]
) -> GroupLayout:
    machine = catalog.machine(group.platform, group.mig)
    assert machine is not None
    platform, hall = machine[0], spec.sizing.racks
    on_it = [sized for sized in sizings if sized.case.pool.node_group == group.name]
    nodes, gpus = nodes_with_reserve(on_it, platform.gpus) if on_it else (len(group.nodes), 0)
    kw = _node_kw(platform, group.name, hall)
    per_rack = racks = None
    if hall is not None:
        per_rack = _nodes_per_rack(platform, group.name, kw, hall, problems)
        racks = ceil(nodes / per_rack) if per_rack else None
    rails = platform.checks.compute_nics
    fabric = None
    if rails is not None and isinstance(rails.value, int) and on_it:
        fabric = switches(nodes, rails.value, spec.sizing.fabric.switch_ports)
        if fabric is None:
            ports = spec.sizing.fabric.switch_ports
            problems.append(f"{group.name}: {nodes} nodes need a fourth tier of {ports}-port switches, not reckoned")
    store = _store_bytes(group, on_it) * spec.sizing.storage.versions
    units = shares(catalog.scalable_units, platform, nodes)
    return GroupLayout(group.name, platform, len(group.nodes), nodes, kw, per_rack, racks, fabric, store, units, gpus)


def _store_bytes(group: NodeGroup, on_it: Sequence[PoolSizing]) -> float:
    """Weights of every model that a pool may serve on the node with most of them; a model is stored once."""
    most = 0.0
    for node in group.nodes:
        here = [each for each in on_it if not each.case.pool.nodes or node.name in each.case.pool.nodes]
        models = {each.case.pool.model: each.weights.total_bytes() for each in here if each.weights is not None}
        most = max(most, sum(models.values()))
    return most


def _node_kw(platform: Platform, name: str, hall: RackSpace | None) -> float | None:
    if hall is not None and name in hall.node_kw:
        return hall.node_kw[name]
    if platform.max_power_kw is None:
        return None
    # Power and height are of the whole system: a tray has its share of the rack's.
    return platform.max_power_kw * (platform.gpus / platform.system_gpus if platform.system_gpus else 1)


def _nodes_per_rack(
    platform: Platform, name: str, kw: float | None, hall: RackSpace, problems: list[str]
) -> int | None:
    if kw is None:
        problems.append(f"{name}: nobody has written down what a {platform.id} draws; set sizing.racks.node_kw.{name}")
        return None
    if "liquid" in platform.form and hall.cooling != "liquid":
        problems.append(f"{name}: a {platform.id} is cooled by liquid, and sizing.racks.cooling is {hall.cooling}")
    whole = platform.system_gpus // platform.gpus if platform.gpus and platform.system_gpus else 1
    if whole > 1:  # sold as a rack: its trays stand together
        if kw * whole > hall.rack_kw:
            problems.append(f"{name}: a rack of {platform.id} draws {kw * whole:g} kW, got {hall.rack_kw:g} kW a rack")
            return None
        return whole
    by_power = int(hall.rack_kw / kw + 1e-9)
    if by_power == 0:
        problems.append(f"{name}: one {platform.id} draws {kw:g} kW, got {hall.rack_kw:g} kW a rack")
        return None
    height = re.match(r"(\d+)U", platform.form)
    if height is None:
        return by_power
    return max(1, min(by_power, (hall.rack_units - hall.free_units) // int(height[1])))
