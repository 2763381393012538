"""Replicas that a pool needs in each year of growth, and the last year that its replicas cover. Pure.

years = growth_of(size_pool(case))
years[1].replicas, last_sufficient_year(years, has=3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..demand.reserve import growth_factor
from .pool import PoolSizing, need_of

MAX_YEARS = 10  # maximum of sizing.reserve.growth_years


@dataclass(frozen=True, slots=True)
class YearNeed:
    """Need of one year; year 0 is today."""

    year: int
    in_flight: float
    """95th percentile of the requests in flight in the pool."""
    replicas: int
    with_reserve: int | None
    """None if the reserve exceeds the nodes of the pool."""


def growth_of(sized: PoolSizing) -> tuple[YearNeed, ...]:
    """Return the need of years 0 to 10; empty without growth, or if the pool was not sized."""
    case, demand = sized.case, sized.case.demand
    yearly = case.reserve.growth_percent_per_year / 100
    if demand is None or sized.performance is None or sized.limit is None or sized.need is None or not yearly:
        return ()
    today = demand.scaled(1 / growth_factor(case.reserve))
    found = []
    for year in range(MAX_YEARS + 1):
        need = need_of(case, sized.performance, sized.limit, today.scaled((1 + yearly) ** year))
        found.append(YearNeed(year, need.in_flight, need.replicas, need.with_reserve))
    return tuple(found)


def last_sufficient_year(years: Sequence[YearNeed], *, has: int) -> int | None:
    """Return the last year in which `has` replicas suffice with reserve; None if not today."""
    enough = [each.year for each in years if each.with_reserve is not None and each.with_reserve <= has]
    return max(enough, default=None)
