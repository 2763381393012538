"""Power follows the load within measured bands, and never exceeds the nameplate."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_site_layout import bank

from sovctl.engine.catalog.power import Load, load_power
from sovctl.engine.sizing.explain.power import power as power_step
from sovctl.engine.sizing.performance.gpu_power import gpu_shares
from sovctl.engine.sizing.pool.pool import PoolSizing
from sovctl.engine.sizing.site.costs import costs_of
from sovctl.engine.sizing.site.data_hall import Layout
from sovctl.engine.sizing.site.power import HOURS_PER_MONTH, SitePower, site_power
from sovctl.engine.spec import SiteSpec


@cache
def _bank() -> tuple[SiteSpec, list[PoolSizing], Layout]:
    return bank()


def _power() -> SitePower:
    _, sizings, layout = _bank()
    found = site_power(layout, sizings)
    assert found is not None
    return found


@pytest.mark.parametrize(("streams", "watts"), [(1, 229), (192, 353), (1, 275), (192, 573)])
def test_means_that_an_h100_drew_are_in_the_band(streams: int, watts: float) -> None:
    found = gpu_shares(streams, 192)
    assert found.low <= watts / 700 <= found.high


@given(st.floats(0, 300), st.floats(0, 300), st.floats(1, 250))
def test_more_requests_draw_more_and_at_most_the_highest_measurement(one: float, other: float, limit: float) -> None:
    few, many = (gpu_shares(each, limit) for each in sorted((one, other)))
    assert all(less <= more * (1 + 1e-9) for less, more in zip(few, many, strict=True))
    assert load_power().shares(Load.IDLE).low <= few.low <= few.middle <= few.high
    assert many.high <= load_power().shares(Load.FULL).high * (1 + 1e-9)


def test_a_site_draws_less_than_its_nameplate_and_more_with_work() -> None:
    power = _power()
    assert power.idle.low < power.idle.middle < power.idle.high
    assert power.idle.middle < power.busy.middle < power.busy.high <= power.nameplate_kw
    assert power.busy.middle < 0.7 * power.nameplate_kw
    assert power.mean(0) == power.idle
    assert power.mean(HOURS_PER_MONTH).middle == pytest.approx(power.busy.middle)


def test_energy_costs_follow_the_load_and_the_connection_does_not() -> None:
    spec, sizings, layout = _bank()
    costs = costs_of(spec, layout, sizings)
    assert costs is not None
    assert costs.energy is not None
    assert spec.sizing.costs is not None
    assert spec.sizing.racks is not None
    assert dict(costs.parts_per_month)["energy"] == costs.energy.middle
    price = HOURS_PER_MONTH * spec.sizing.costs.energy_per_kwh * (spec.sizing.racks.power_usage_effectiveness or 1)
    assert layout.kw is not None
    assert costs.energy.high < layout.kw * price
    hours = spec.sizing.costs.busy_hours_per_month
    assert costs.energy.low == pytest.approx(_power().mean(hours).low * price)


def test_the_load_of_a_pool_without_a_workload_is_unknown() -> None:
    _, sizings, layout = _bank()
    idle, unknown = _power(), site_power(layout, [replace(each, limit=None) for each in sizings])
    assert unknown is not None
    assert unknown.busy.low == pytest.approx(idle.idle.low)
    assert unknown.busy.high > idle.busy.high


def test_power_is_unknown_if_the_maximum_of_a_node_is() -> None:
    _, sizings, layout = _bank()
    groups = (replace(layout.groups[0], node_kw=None), *layout.groups[1:])
    assert site_power(replace(layout, groups=groups), sizings) is None


def test_a_step_explains_the_power_of_one_gpu() -> None:
    sized = next(each for each in _bank()[1] if each.limit is not None)
    assert sized.limit is not None
    step: Any = power_step(sized, sized.limit)
    assert "700 W" in step.inputs[0]
    assert "band" in step.result
