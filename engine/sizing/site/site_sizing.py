"""A whole site, sized: its pools, the machines they need, what that costs. Pure.

outcome = reckon(loaded.spec, loaded.catalog)
outcome.sizings[0].verdict, outcome.layout.racks, outcome.blocks
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...catalog import Catalog
from ...spec import SiteSpec
from ..pool.pool import PoolSizing, pool_cases, size_pool
from .costs import MonthlyCosts, costs_of
from .data_hall import Layout, site_layout


@dataclass(frozen=True)
class SiteSizing:
    """All that sizing says of a site."""

    spec: SiteSpec
    sizings: Sequence[PoolSizing]
    """In the order of `pools`."""
    layout: Layout
    costs: MonthlyCosts | None
    """None where the site gives no prices."""

    @property
    def blocks(self) -> bool:
        """True when a pool can't carry its workload, or nobody can say."""
        return any(sized.verdict.blocks for sized in self.sizings)


def size_site(spec: SiteSpec, catalog: Catalog) -> SiteSizing:
    """Size a site whose numbers are all there."""
    sizings = [size_pool(case) for case in pool_cases(spec, catalog)]
    layout = site_layout(spec, catalog, sizings)
    return SiteSizing(spec, sizings, layout, costs_of(spec, layout, sizings))
