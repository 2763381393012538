"""Compares the costs of a site with renting the same GPUs and with an API, from the prices in site.yaml. Pure.

Costs are per month over the depreciation period, in the site's currency. Energy follows the load (`power`). The
break-even volume is the monthly cost divided by the API price per request; it depends on the utilization of the GPUs
only by the energy.

    costs = costs_of(spec, layout, sizings)
    costs.own_per_month, costs.rent_per_month, costs.break_even_requests
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...spec import SiteSpec
from ..performance.capacity import Interval
from ..pool.pool import PoolSizing
from .data_hall import Layout
from .power import HOURS_PER_MONTH, site_power


@dataclass(frozen=True, slots=True)
class Volume:
    """Workload of one month: mean demand (without peak factors) during the busy hours of site.yaml."""

    requests: float
    input_tokens: float
    output_tokens: float


@dataclass(frozen=True, slots=True)
class MonthlyCosts:
    """Monthly costs; items without a price are listed in `unknown`."""

    currency: str
    years: float
    bought: float
    """One-time cost at the start."""
    parts_per_month: tuple[tuple[str, float], ...]
    """Costs of the site, as (name, amount)."""
    volume: Volume
    rent_per_month: float | None
    api_per_month: float | None
    break_even_requests: float | None
    """Requests per month at which the API costs as much as the site."""
    pays_back_months: float | None
    """Months after which buying is cheaper than renting; None if it is always more expensive."""
    unknown: tuple[str, ...]
    """Costs that are not included, with the reason."""
    energy: Interval | None = None
    """Monthly cost of energy with its band; its middle is in `parts_per_month`. None if the power is unknown."""

    @property
    def break_even_tokens(self) -> float | None:
        """`break_even_requests` in tokens: input plus output, in the mix of the workload."""
        if self.break_even_requests is None:
            return None
        tokens = self.volume.input_tokens + self.volume.output_tokens
        return self.break_even_requests * tokens / self.volume.requests

    @property
    def own_per_month(self) -> float:
        """Sum of `parts_per_month`."""
        return sum(amount for _, amount in self.parts_per_month)

    @property
    def own_in_all(self) -> float:
        """Total over all years."""
        return self.own_per_month * 12 * self.years


def costs_of(spec: SiteSpec, layout: Layout, sizings: Sequence[PoolSizing]) -> MonthlyCosts | None:
    """Return the costs; None if site.yaml contains no prices."""
    prices, rack_space = spec.sizing.costs, spec.sizing.racks
    if prices is None:
        return None
    unknown = [f"no price for a node of {each.name}" for each in layout.groups if each.name not in prices.nodes]
    nodes = sum(prices.nodes.get(each.name, 0.0) * each.nodes for each in layout.groups)
    bought = nodes + prices.network
    months = prices.years * 12
    parts = [("machines", nodes / months), ("network", prices.network / months)]
    parts.append(("support", bought * prices.support_percent_per_year / 100 / 12))
    power, energy = site_power(layout, sizings), None
    if power is None:
        unknown.append("energy: the power of some nodes is not known")
    else:
        overhead = (rack_space.power_usage_effectiveness if rack_space else None) or 1.0
        price = overhead * HOURS_PER_MONTH * prices.energy_per_kwh
        mean = power.mean(prices.busy_hours_per_month)
        energy = Interval(mean.low * price, mean.middle * price, mean.high * price)
        parts.append(("energy", energy.middle))
    if layout.racks is None:
        if prices.rack_per_year:
            unknown.append("racks: their number is not known")
    else:
        parts.append(("racks", layout.racks * prices.rack_per_year / 12))
    parts.append(("staff", prices.staff_per_year / 12))
    volume = volume_of(sizings, prices.busy_hours_per_month)
    api = None
    if prices.input_price_per_million is not None and prices.output_price_per_million is not None:
        api = volume.input_tokens / 1e6 * prices.input_price_per_million
        api += volume.output_tokens / 1e6 * prices.output_price_per_million
    rent = None
    if prices.rent_per_gpu_hour is not None:
        rent = sum(each.gpus_needed for each in layout.groups) * prices.rent_per_gpu_hour * HOURS_PER_MONTH
    own = sum(amount for _, amount in parts)
    running = own - bought / months
    return MonthlyCosts(
        currency=prices.currency,
        years=prices.years,
        bought=bought,
        parts_per_month=tuple((name, amount) for name, amount in parts if amount),
        volume=volume,
        rent_per_month=rent,
        api_per_month=api,
        break_even_requests=own / (api / volume.requests) if api and volume.requests else None,
        pays_back_months=bought / (rent - running) if rent is not None and rent > running else None,
        unknown=tuple(unknown),
        energy=energy,
    )


def volume_of(sizings: Sequence[PoolSizing], busy_hours: float) -> Volume:
    """Return the workload of a month with `busy_hours` busy hours."""
    requests = input_tokens = output_tokens = 0.0
    for sized in sizings:
        demand = sized.case.demand
        if demand is None or sized.limit is None:
            continue
        e2e_s = sized.limit.point.e2e_s
        for each in demand.classes:
            calls = each.rate_per_s(e2e_s) / each.peak_factor * 3600 * busy_hours
            requests += calls
            input_tokens += calls * each.input_tokens.mean
            output_tokens += calls * each.output_tokens.mean if sized.server and sized.server.is_generative else 0.0
    return Volume(requests, input_tokens, output_tokens)
