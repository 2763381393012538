"""Rules about `scaling`: pools, bounds, positions of replicas above `replicas`, and times."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from ...scaling.positions import try_positions
from ...scaling.rules import least_cooldown_s, load_time_s
from ...sizing.pool.pool import pool_cases
from .rule import SiteUnderValidation, duplicates, unknown_name


def check_bounds(site: SiteUnderValidation) -> Iterator[Problem]:
    scaling = site.spec.scaling
    if scaling is None:
        return
    pools = {pool.name: pool for pool in site.spec.pools}
    named = [(f"scaling.pools[{index}]", each) for index, each in enumerate(scaling.pools)]
    yield from duplicates("pool of scaling", ((f"{where}.pool", each.pool) for where, each in named))
    for where, each in named:
        yield from unknown_name("pool", each.pool, pools, f"{where}.pool")
        if each.maximum_replicas < each.minimum_replicas:
            yield Problem(
                f"expected at least minimum_replicas, {each.minimum_replicas}, got {each.maximum_replicas}",
                where=f"{where}.maximum_replicas",
                hint="exchange the two values",
            )
        pool = pools.get(each.pool)
        if pool is None:
            continue
        if not each.minimum_replicas <= pool.replicas <= max(each.minimum_replicas, each.maximum_replicas):
            yield Problem(
                f"expected minimum_replicas {each.minimum_replicas} <= replicas of pool {pool.name} <= "
                f"maximum_replicas {each.maximum_replicas}, got {pool.replicas}",
                where=where,
                hint="`sovctl apply` deploys `replicas`, and a standing plan begins with them",
            )
    seen: set[str] = set()
    for line, vkey in enumerate(scaling.approvers):
        key = vkey.partition("+")[2]
        if key in seen:
            yield Problem(
                "expected every key once, got one again", where=f"scaling.approvers[{line}]", hint="remove it"
            )
        seen.add(key)


def check_positions(site: SiteUnderValidation) -> Iterator[Problem]:
    yield from try_positions(site.spec, site.catalog)[1]


def check_times(site: SiteUnderValidation) -> Iterator[Problem]:
    """Check that the cooldown is at least two load times of each pool, and the longer window at least the cooldown."""
    scaling = site.spec.scaling
    if scaling is None:
        return
    scaled = {each.pool: each for each in scaling.pools}
    least = {
        case.pool.name: least_cooldown_s(load_time_s(case, scaled[case.pool.name].idle))
        for case in pool_cases(site.spec, site.catalog)
        if case.pool.name in scaled
    }
    slowest = max(least, key=lambda name: least[name], default="")
    if scaling.cooldown_s is not None and slowest and scaling.cooldown_s < least[slowest]:
        yield Problem(
            f"expected at least {least[slowest]:.0f} s, twice the load time of pool {slowest}, got "
            f"{scaling.cooldown_s:g}",
            where="scaling.cooldown_s",
            hint="remove it for the default of each pool",
        )
    cooldown_s = scaling.cooldown_s or max(least.values(), default=0.0)
    if scaling.scale_down_after_s is not None and scaling.scale_down_after_s < cooldown_s:
        yield Problem(
            f"expected at least the cooldown, {cooldown_s:.0f} s, got {scaling.scale_down_after_s}",
            where="scaling.scale_down_after_s",
            hint="remove it for the default",
        )
    if scaling.window_s < 2 * scaling.interval_s:
        yield Problem(
            f"expected at least two intervals, {2 * scaling.interval_s} s, got {scaling.window_s}",
            where="scaling.window_s",
            hint="lower interval_s, or raise window_s",
        )
