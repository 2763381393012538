"""Derivation steps of replicas: their number, their growth by year, and the start time of a replica.

replicas(size_pool(case)).result
"""

from __future__ import annotations

from collections.abc import Iterator

from ..demand.reserve import lost
from ..pool.autoscaler import load_s, node_weights
from ..pool.growth import growth_of, last_sufficient_year
from ..pool.pool import PoolSizing
from ..pool.server import Server
from .step import Step, both_units, seconds


def growth(sized: PoolSizing) -> Iterator[Step]:
    """Yield the need of each year; nothing without growth."""
    years, reserve = growth_of(sized), sized.case.reserve
    if not years:
        return
    last = last_sufficient_year(years, has=sized.case.pool.replicas)
    yield Step(
        "growth",
        "today's users x (1 + growth) ^ years; each year is sized as above",
        tuple(
            f"year {each.year}: {each.in_flight:,.1f} in flight, {each.replicas} replicas, with reserve "
            f"{'none' if each.with_reserve is None else each.with_reserve}"
            + (" (sized for)" if each.year == reserve.growth_years else "")
            for each in years
        ),
        f"site.yaml has {sized.case.pool.replicas}, "
        + ("not enough with reserve today" if last is None else f"enough with reserve until year {last}"),
    )


def start(sized: PoolSizing, server: Server) -> Step:
    """Return the start time of a new replica."""
    node_bytes, read_gb_s = node_weights(server, sized.case.platform.gpus), sized.case.read_gb_s
    total_s = load_s(node_bytes, read_gb_s)
    if read_gb_s is None:
        inputs: tuple[str, ...] = ("sizing.storage.read_gb_s is not set: the slowest published start is used",)
    else:
        read_s = node_bytes / (read_gb_s * 1e9)
        inputs = (
            f"{read_gb_s:g} GB/s: {seconds(read_s)}",
            f"engine start, slow end of measurements: {seconds(total_s - read_s)}",
        )
    return Step(
        "start of a replica",
        "weights per node / read speed of its model store + start of the engine",
        (f"{both_units(node_bytes)} on one node", *inputs),
        f"{seconds(total_s)} from the decision to the first answer",
    )


def replicas(sized: PoolSizing) -> Step:
    """Return the number of replicas with reserve."""
    assert sized.need is not None
    assert sized.limit is not None
    case, need = sized.case, sized.need
    reserve, away = case.reserve, case.reserve.failed_nodes + case.reserve.maintenance_nodes
    gone = lost(need.with_reserve or need.replicas, case.nodes, away, case.replicas_per_node) if away else 0
    return Step(
        "replicas",
        "calls in flight / capacity of one replica, rounded up, plus spare replicas; enough left with nodes away",
        (
            f"{need.in_flight:,.1f} / {sized.limit.point.in_flight:,.1f}: {need.replicas}",
            f"spare {reserve.spare_replicas}",
            f"{away} of {case.nodes} nodes may be away, with {gone} replicas",
        ),
        f"{need.with_reserve if need.with_reserve is not None else 'none'} needed, site.yaml has "
        f"{case.pool.replicas}: {sized.verdict}" + (f", {sized.reason}" if sized.reason else ""),
    )
