"""Power and energy of a site under its workload, with bands. Pure.

The nameplate (`Layout.kw`) is the maximum: it decides the electrical connection, the cooling and the racks. Energy
follows the load: in busy hours the mean workload of site.yaml runs on the replicas with reserve; in other hours GPUs
are idle. The load of a pool without a workload is unknown: its band reaches from idle to full.

    power = site_power(layout, sizings)
    power.busy.middle, power.idle.middle, power.mean(busy_hours=200).high       # kW
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...catalog.power import Load, Shares, load_power
from ..performance.capacity import Interval
from ..performance.gpu_power import gpu_shares
from ..pool.pool import PoolSizing
from .data_hall import GroupLayout, Layout, pool_replicas

HOURS_PER_MONTH = 730.0  # 365.25 days of 24 hours in 12 months


@dataclass(frozen=True, slots=True)
class SitePower:
    """Mean power of all nodes, in kW."""

    nameplate_kw: float
    """Maximum, for the electrical connection and cooling."""
    busy: Interval
    """In the hours with the load of `workload`, without peak factors."""
    idle: Interval
    """Without requests."""

    def mean(self, busy_hours: float) -> Interval:
        """Return the mean over a month with `busy_hours` busy hours."""
        share = min(1.0, busy_hours / HOURS_PER_MONTH)
        return Interval(
            *(
                idle + (busy - idle) * share
                for idle, busy in (
                    (self.idle.low, self.busy.low),
                    (self.idle.middle, self.busy.middle),
                    (self.idle.high, self.busy.high),
                )
            )
        )


def site_power(layout: Layout, sizings: Sequence[PoolSizing]) -> SitePower | None:
    """Return the power of the nodes that a site needs; None if the maximum of a node is unknown."""
    if layout.kw is None:
        return None
    busy, idle = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    for group in layout.groups:
        on_it = [each for each in sizings if each.case.pool.node_group == group.name]
        for total, is_busy in ((busy, True), (idle, False)):
            for index, kw in enumerate(_group_kw(group, on_it, is_busy=is_busy)):
                total[index] += kw
    return SitePower(layout.kw, Interval(*busy), Interval(*idle))


def mean_in_flight(sized: PoolSizing) -> float | None:
    """Return the mean requests in flight of a pool in busy hours, without peak factors; None if it was not sized."""
    demand = sized.case.demand
    if demand is None or sized.limit is None:
        return None
    e2e_s = sized.limit.point.e2e_s
    return sum(each.rate_per_s(e2e_s) / each.peak_factor * e2e_s for each in demand.classes)


def _group_kw(group: GroupLayout, on_it: Sequence[PoolSizing], *, is_busy: bool) -> Shares:
    """Return the low, middle and high power of a node group in kW, at most its maximum."""
    assert group.node_kw is not None
    most = group.node_kw * group.nodes
    gpu_kw = max((each.case.gpu.tdp_w for each in on_it), default=0) / 1000
    free = group.platform.gpus * group.nodes if on_it else 0
    kw = [0.0, 0.0, 0.0]
    for sized in on_it:
        replicas = pool_replicas(sized, group.nodes)
        gpus = min(free, replicas * sized.case.pool.gpus_per_replica)
        free -= gpus
        _add(kw, _busy(sized, replicas) if is_busy else gpu_shares(0.0, 1.0), gpus * gpu_kw)
    _add(kw, gpu_shares(0.0, 1.0), free * gpu_kw)
    rest_kw = most - gpu_kw * group.platform.gpus * group.nodes if on_it else most
    _add(kw, load_power().rest_shares, max(0.0, rest_kw))
    return Shares(*(min(each, most) for each in kw))


def _busy(sized: PoolSizing, replicas: int) -> Shares:
    in_flight = mean_in_flight(sized)
    if in_flight is None or sized.limit is None:
        known = load_power()
        return Shares(*(known.shares(load)[index] for index, load in enumerate((Load.IDLE, Load.ONE, Load.FULL))))
    return gpu_shares(in_flight / max(1, replicas), sized.limit.point.in_flight)


def _add(kw: list[float], shares: Shares, most_kw: float) -> None:
    for index, share in enumerate(shares):
        kw[index] += share * most_kw
