"""Compares policies over the same day, for `sovctl scaling simulate` and `bench/scaling.py`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from zoneinfo import ZoneInfo

from sovctl.support.errors import InputError

from ...catalog import Catalog
from ...catalog.scaling import DayShape, load_day_shapes
from ...sizing.pool.pool import pool_cases, size_pool
from ...spec import SiteSpec
from ...spec.scaling import IdleState
from ..rules import calendar_of, rules_of
from .arrivals import arrivals
from .day import PoolDay, simulate
from .policies import Policy, Reactive, Scaled, Static
from .service import ServiceModel

DAY = datetime(2024, 5, 14, tzinfo=ZoneInfo("UTC"))
"""Tuesday of the trace, for the calendar."""


@dataclass(frozen=True)
class Outcome:
    """Result of one policy for one pool.

    Args:
        policy: its name, and the state of idle replicas if the policy moves replicas.
    """

    policy: str
    pool: str
    day: PoolDay

    @property
    def violation_percent(self) -> float:
        """Requests above a limit of the workload, in percent."""
        return 100 * self.day.violations / self.day.requests if self.day.requests else 0.0


def shapes_of(spec: SiteSpec, chosen: Mapping[str, str]) -> dict[str, DayShape]:
    """Return the shape of the day of each scaled pool; those without a choice alternate in the order of the catalogue.

    Args:
        chosen: id of a shape by pool.

    Raises:
        InputError: unknown pool or shape.
    """
    assert spec.scaling is not None
    shapes, pools = load_day_shapes(), [each.pool for each in spec.scaling.pools]
    for pool, name in chosen.items():
        if pool not in pools:
            raise InputError(f"expected one of the pools {', '.join(pools)}, got {pool}", where="--shape")
        if name not in shapes:
            raise InputError(f"expected one of {', '.join(shapes)}, got {name}", where="--shape")
    order = list(shapes)
    return {pool: shapes[chosen.get(pool, order[index % len(order)])] for index, pool in enumerate(pools)}


def compare(
    spec: SiteSpec, catalog: Catalog, *, shapes: Mapping[str, DayShape], seed: int = 1, load: float = 1.0
) -> Iterator[Outcome]:
    """Yield the outcomes of all policies, pool by pool.

    Args:
        shapes: by pool.
        seed: of arrivals and answers; the same for all policies.
        load: factor on the peak rate of the workload.

    Raises:
        InputError: a scaled pool was not sized.
    """
    assert spec.scaling is not None
    names = {each.pool for each in spec.scaling.pools}
    models = {
        case.pool.name: ServiceModel.of(size_pool(case))
        for case in pool_cases(spec, catalog)
        if case.pool.name in names
    }
    random = Random(seed)  # noqa: S311 - a simulation
    times = {pool: list(arrivals(shapes[pool], models[pool].peak_per_s * load, random)) for pool in models}
    replicas = {pool.name: pool.replicas for pool in spec.pools if pool.name in names}
    for label, site, policy in _policies(spec, catalog, replicas):
        rules = rules_of(site, catalog)
        interval_s = float(spec.scaling.interval_s)
        found = simulate(rules, models, times, policy, replicas=replicas, interval_s=interval_s, seed=seed)
        for pool, day in found.items():
            yield Outcome(label, pool, day)


def _policies(spec: SiteSpec, catalog: Catalog, replicas: dict[str, int]) -> Iterator[tuple[str, SiteSpec, Policy]]:
    """Yield label, site and policy. `reactive` and `sovctl` are simulated with stopped and with sleeping replicas."""
    assert spec.scaling is not None
    yield "static", spec, Static()
    for idle in (IdleState.STOPPED, IdleState.ASLEEP):
        site = with_idle(spec, idle)
        yield f"reactive, {idle}", site, Reactive(rules_of(site, catalog), replicas)
    for idle in (IdleState.STOPPED, IdleState.ASLEEP):
        site = with_idle(spec, idle)
        yield (
            f"sovctl, {idle}",
            site,
            Scaled(
                rules_of(site, catalog),
                calendar_of(site, catalog),
                window_s=spec.scaling.window_s,
                interval_s=spec.scaling.interval_s,
                midnight=DAY,
            ),
        )


def with_idle(spec: SiteSpec, idle: IdleState) -> SiteSpec:
    """Return the site with another state of idle replicas, and default times."""
    assert spec.scaling is not None
    pools = [each.model_copy(update={"idle": idle}) for each in spec.scaling.pools]
    scaling = spec.scaling.model_copy(update={"pools": pools, "cooldown_s": None, "scale_down_after_s": None})
    return spec.model_copy(update={"scaling": scaling})


def totals(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return one outcome per policy over all pools, in the order of the policies."""
    found: dict[str, PoolDay] = {}
    for each in outcomes:
        day = found.setdefault(each.policy, PoolDay())
        found[each.policy] = replace(
            day,
            requests=day.requests + each.day.requests,
            violations=day.violations + each.day.violations,
            gpu_hours=day.gpu_hours + each.day.gpu_hours,
            moves=day.moves + each.day.moves,
        )
    return [Outcome(policy, "all", day) for policy, day in found.items()]
