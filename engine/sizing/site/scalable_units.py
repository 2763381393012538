"""How much of a SuperPOD a number of nodes is: the whole units in which NVIDIA's reference architectures grow. Pure.

    shares(catalog.scalable_units, catalog.platforms["dgx-b200"], nodes=40)
    # (UnitShare(id="SuperPOD-B200", unit_nodes=32, ..., units=2),)

A platform may have several architectures, as the DGX B300 with Ethernet and with InfiniBand XDR; each is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from ...catalog.figure import Kind
from ...catalog.platforms import Platform, ScalableUnit


@dataclass(frozen=True, slots=True)
class UnitShare:
    """Some nodes as scalable units of one architecture."""

    id: str
    """Of the catalogue."""
    unit_nodes: int
    """Nodes of one unit."""
    nodes: int
    """That are wanted."""
    kind: Kind
    """How well the unit's size is known."""
    unit_mw: float | None = None
    """Power of one unit with the equipment that its nodes share, in MW; None where it is not written down."""

    @property
    def units(self) -> int:
        """Whole units that hold the nodes."""
        return ceil(self.nodes / self.unit_nodes)

    @property
    def spare_nodes(self) -> int:
        """Places left in the last unit."""
        return self.units * self.unit_nodes - self.nodes


def shares(known: Mapping[str, ScalableUnit], platform: Platform, nodes: int) -> tuple[UnitShare, ...]:
    """What so many nodes of a platform are in each architecture that has it; empty where none has."""
    return tuple(
        UnitShare(unit.id, size, nodes, unit.kind, unit.power_mw_per_su)
        for unit in known.values()
        if unit.platform == platform.id and (size := _nodes(unit, platform)) is not None
    )


def _nodes(unit: ScalableUnit, platform: Platform) -> int | None:
    """Nodes of one unit; a system that is a whole rack has several."""
    if unit.nodes_per_su is not None:
        return unit.nodes_per_su
    if unit.racks_per_su is None or not platform.gpus:
        return None
    return unit.racks_per_su * platform.system_gpus // platform.gpus
