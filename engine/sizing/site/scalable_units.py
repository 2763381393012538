"""Number of SuperPOD scalable units for a number of nodes, by NVIDIA's reference architectures. Pure.

    shares(catalog.scalable_units, catalog.platforms["dgx-b200"], nodes=40)
    # (UnitShare(id="SuperPOD-B200", unit_nodes=32, ..., units=2),)

A platform may have several architectures, such as the DGX B300 with Ethernet or InfiniBand XDR; all are returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from ...catalog.figure import Kind
from ...catalog.platforms import Platform, ScalableUnit


@dataclass(frozen=True, slots=True)
class UnitShare:
    """Scalable units of one architecture for a number of nodes."""

    id: str
    """Id in the catalogue."""
    unit_nodes: int
    """Nodes of one unit."""
    nodes: int
    """Nodes needed."""
    kind: Kind
    """Kind of source of the unit's size."""
    unit_mw: float | None = None
    """Power of one unit including shared equipment, in MW; None if not published."""

    @property
    def units(self) -> int:
        """Whole units for the nodes."""
        return ceil(self.nodes / self.unit_nodes)

    @property
    def spare_nodes(self) -> int:
        """Unused nodes of the last unit."""
        return self.units * self.unit_nodes - self.nodes


def shares(known: Mapping[str, ScalableUnit], platform: Platform, nodes: int) -> tuple[UnitShare, ...]:
    """Return the units for `nodes` nodes in each architecture of the platform, possibly empty."""
    return tuple(
        UnitShare(unit.id, size, nodes, unit.kind, unit.power_mw_per_su)
        for unit in known.values()
        if unit.platform == platform.id and (size := _nodes(unit, platform)) is not None
    )


def _nodes(unit: ScalableUnit, platform: Platform) -> int | None:
    """Return the nodes of one unit; a rack-scale system has several nodes."""
    if unit.nodes_per_su is not None:
        return unit.nodes_per_su
    if unit.racks_per_su is None or not platform.gpus:
        return None
    return unit.racks_per_su * platform.system_gpus // platform.gpus
