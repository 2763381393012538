"""Sizing of a whole site: its pools, the machines they need, and their costs. Pure.

site_sizing = size_site(loaded.spec, loaded.catalog)
site_sizing.sizings[0].verdict, site_sizing.layout.racks, site_sizing.blocks
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...catalog import Catalog
from ...spec import SiteSpec
from ..pool.pool import PoolSizing, pool_cases, size_pool
from .costs import MonthlyCosts, costs_of
from .data_hall import Layout, site_layout
from .power import SitePower, site_power


@dataclass(frozen=True)
class SiteSizing:
    """Sizing result of a site."""

    spec: SiteSpec
    sizings: Sequence[PoolSizing]
    """In the order of `pools`."""
    layout: Layout
    costs: MonthlyCosts | None
    """None if site.yaml contains no prices."""
    power: SitePower | None = None
    """None if the maximum power of a node is unknown."""

    @property
    def blocks(self) -> bool:
        """Whether a pool cannot carry its workload, or could not be sized."""
        return any(sized.verdict.blocks for sized in self.sizings)


def size_site(spec: SiteSpec, catalog: Catalog) -> SiteSizing:
    """Size a site without `auto` fields."""
    sizings = [size_pool(case) for case in pool_cases(spec, catalog)]
    layout = site_layout(spec, catalog, sizings)
    return SiteSizing(spec, sizings, layout, costs_of(spec, layout, sizings), site_power(layout, sizings))
