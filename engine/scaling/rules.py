"""Rules of decisions and the calendar of a site, from site.yaml, catalogue and sizing. Pure.

rules = rules_of(spec, load_catalog())
calendar_of(spec, load_catalog()).required("chat", now, horizon_s=300)
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sovctl.support.errors import InputError

from ..catalog import Catalog
from ..catalog.scaling import threshold
from ..sizing.pool.autoscaler import lead_time_s, load_s, replicas_for
from ..sizing.pool.busy_hours import spans
from ..sizing.pool.pool import PoolCase, PoolSizing, pool_cases, size_pool
from ..spec import SiteSpec
from ..spec.scaling import IdleState, PoolScaling, Scaling
from .decision import PoolRule, Rules
from .positions import positions
from .saturation import Thresholds

_WEEK = 10080  # minutes


def thresholds() -> Thresholds:
    """Return the thresholds of the catalogue."""
    return Thresholds(
        kv_saturated=threshold("kv-cache-saturated"),
        queue_saturated=threshold("queue-saturated"),
        kv_spare=threshold("kv-cache-spare"),
        queue_spare=threshold("queue-spare"),
        hysteresis=threshold("hysteresis"),
    )


def load_time_s(case: PoolCase, idle: IdleState) -> float:
    """Return the seconds from a decision to the first answer: of a wake-up, or of a start with its weights."""
    if idle is IdleState.ASLEEP:
        return threshold("wake")
    with suppress(InputError):
        return lead_time_s(case)
    return load_s(0.0, None)  # the slowest published start


def least_cooldown_s(load_time: float) -> float:
    """Return the shortest cooldown for a load time in seconds."""
    return max(threshold("least-cooldown"), threshold("cooldown-load-times") * load_time)


def rule_of(case: PoolCase, each: PoolScaling, scaling: Scaling) -> PoolRule:
    """Return the rule of one pool."""
    load_time = load_time_s(case, each.idle)
    cooldown_s = scaling.cooldown_s or least_cooldown_s(load_time)
    sized = size_pool(case)
    return PoolRule(
        pool=each.pool,
        minimum=each.minimum_replicas,
        maximum=each.maximum_replicas,
        in_flight=None if sized.limit is None or not sized.limit.is_held else sized.limit.point.in_flight,
        load_time_s=load_time,
        cooldown_s=cooldown_s,
        scale_down_after_s=scaling.scale_down_after_s or cooldown_s,
    )


def rules_of(spec: SiteSpec, catalog: Catalog) -> Rules:
    """Return the rules of a valid site with a section `scaling`."""
    assert spec.scaling is not None
    cases = {case.pool.name: case for case in pool_cases(spec, catalog)}
    pools = tuple(rule_of(cases[each.pool], each, spec.scaling) for each in spec.scaling.pools)
    return Rules(pools, positions(spec, catalog), thresholds())


@dataclass(frozen=True)
class Busy:
    """Replicas of a pool in the minutes of a week.

    Args:
        spans: (start, end) in minutes since Sunday 00:00 of the site's time zone; the start includes the lead time.
    """

    spans: tuple[tuple[int, int], ...]
    replicas: int


@dataclass(frozen=True)
class Calendar:
    """Busy hours of the scaled pools."""

    timezone: str
    pools: Mapping[str, tuple[Busy, ...]]

    def required(self, pool: str, now: datetime, *, horizon_s: float = 0.0) -> int:
        """Return the most replicas that the calendar requires from now until the horizon; 0 without busy hours.

        Args:
            now: with a time zone.
        """
        try:
            local = now.astimezone(ZoneInfo(self.timezone))
        except ZoneInfoNotFoundError:  # a controller without a database of time zones accepts every name
            raise InputError(
                f"time zone {self.timezone} is not in the controller's database",
                where="sizing.autoscaling.timezone",
                hint="install tzdata",
            ) from None
        begin = (local.isoweekday() % 7) * 1440 + local.hour * 60 + local.minute
        end = begin + ceil(horizon_s / 60)
        return max(
            (
                busy.replicas
                for busy in self.pools.get(pool, ())
                if any(_meets(begin, end, *span) for span in busy.spans)
            ),
            default=0,
        )


def _meets(begin: int, end: int, start: int, stop: int) -> bool:
    """Return whether [begin, end] and the span [start, stop) of a week have a minute in common."""
    return any(begin < stop + week and start + week <= end for week in (-_WEEK, 0, _WEEK))


def calendar_of(spec: SiteSpec, catalog: Catalog) -> Calendar:
    """Return the calendar of a valid site with a section `scaling`."""
    assert spec.scaling is not None
    scaled = {each.pool: each for each in spec.scaling.pools}
    made: dict[str, tuple[Busy, ...]] = {}
    for case in pool_cases(spec, catalog):
        if (each := scaled.get(case.pool.name)) is None:
            continue
        sized, lead = size_pool(case), ceil(load_time_s(case, each.idle) / 60)
        made[each.pool] = tuple(
            Busy(tuple(spans(busy, lead)), _replicas(spec, sized, each, busy.percent))
            for busy in spec.sizing.autoscaling.busy_hours
        )
    return Calendar(spec.sizing.autoscaling.timezone, made)


def _replicas(spec: SiteSpec, sized: PoolSizing, each: PoolScaling, percent: float) -> int:
    """Return the replicas for a percentage of the peak: by sizing, or of the maximum for a pool that is not sized."""
    if sized.need is None:
        wanted = ceil(each.maximum_replicas * percent / 100)
    else:
        wanted = replicas_for(sized, spec.sizing, percent, max_replicas=each.maximum_replicas)
    return max(each.minimum_replicas, wanted)
