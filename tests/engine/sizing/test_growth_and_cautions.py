"""What changes over the years, and what longer calls than the average get."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from math import exp, log
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from preset_values import preset_values

from sovctl.engine.catalog import load_catalog
from sovctl.engine.sizing.demand.lengths import MAX_P95_RATIO, Lengths
from sovctl.engine.sizing.demand.reserve import lost, replicas_with_reserve
from sovctl.engine.sizing.pool.caveats import caveats
from sovctl.engine.sizing.pool.growth import MAX_YEARS, growth_of, last_sufficient_year
from sovctl.engine.sizing.pool.pool import PoolSizing
from sovctl.engine.sizing.site.data_hall import nodes_for
from sovctl.engine.sizing.site.site_sizing import SiteSizing, size_site
from sovctl.engine.validation.load import parse

BANK = preset_values("bank-hybrid")
BANK["perimeter"]["exceptions"][0]["expires"] = "2036-12-31"


def bank(*, asked: dict[str, Any] | None = None, **reserve: Any) -> SiteSizing:
    """The bank with its first class and its reserve changed."""
    value = {**BANK, "workload": [{**BANK["workload"][0], **(asked or {})}], "sizing": {"reserve": reserve}}
    text = yaml.safe_dump(value).encode()
    loaded = parse(text, path=Path("site.yaml"), today=date(2026, 11, 22), catalog=load_catalog(), is_draft=True)
    return size_site(loaded.spec, loaded.catalog)


def test_each_year_is_what_sizing_for_that_year_says() -> None:
    years = growth_of(bank(growth_percent_per_year=40, growth_years=2).sizings[0])
    assert [each.year for each in years] == list(range(MAX_YEARS + 1))
    assert all(before.in_flight < after.in_flight for before, after in pairwise(years))
    for year in (0, 3):
        need = bank(growth_percent_per_year=40, growth_years=year).sizings[0].need
        assert need is not None
        assert years[year].in_flight == pytest.approx(need.in_flight, rel=1e-6)
        assert (years[year].replicas, years[year].with_reserve) == (need.replicas, need.with_reserve)


def test_replicas_last_to_the_year_before_they_are_too_few() -> None:
    years = growth_of(bank(growth_percent_per_year=40).sizings[0])
    for has in range(1, 20):
        last = last_sufficient_year(years, has=has)
        enough = [each.year for each in years if (each.with_reserve or 99) <= has]
        assert enough == list(range(0 if last is None else last + 1))
    assert growth_of(bank().sizings[0]) == ()


def test_a_crowd_past_all_counting_is_counted() -> None:
    found = bank(asked={"users": 100_000_000}, growth_percent_per_year=1000, growth_years=10, failed_nodes=1)
    years = growth_of(found.sizings[0])
    assert (years[-1].with_reserve or 0) > years[-1].replicas > 10**12


def test_more_nodes_are_wanted_where_more_may_go_and_never_fewer() -> None:
    nodes = [bank(failed_nodes=away).layout.groups[0].nodes for away in range(6)]
    assert nodes == sorted(nodes)
    assert all(count > away for away, count in enumerate(nodes))


def test_on_the_nodes_that_are_wanted_enough_is_left_and_on_one_fewer_it_is_not() -> None:
    for away in range(1, 5):
        found = bank(asked={"users": 20_000}, failed_nodes=away)
        nodes, gpus = found.layout.groups[0].nodes, found.layout.groups[0].platform.gpus
        on_it = [each for each in found.sizings if each.case.pool.node_group == "dgx"]

        def taken(count: int, away: int = away, gpus: int = gpus, on_it: list[PoolSizing] = on_it) -> int:
            shapes = []
            for each in on_it:
                case, kept = each.case, each.case.pool.replicas
                if each.need is not None:
                    most = replicas_with_reserve(
                        each.need.replicas, case.reserve, nodes=count, replicas_per_node=case.replicas_per_node
                    )
                    assert most is not None
                    assert most - lost(most, count, away, case.replicas_per_node) >= each.need.replicas
                    kept = most
                shapes.append((kept, case.pool.gpus_per_replica))
            return nodes_for(shapes, gpus)

        assert taken(nodes) <= nodes
        assert nodes == away + 1 or taken(nodes - 1) > nodes - 1


def test_a_limit_that_only_average_prompts_keep_is_said() -> None:
    free = bank().sizings[0]
    assert caveats(free) == []
    assert free.point is not None
    assert free.performance is not None
    assert free.case.demand is not None
    ((_, long_s),) = free.performance.long_ttft_s(free.point, free.case.demand)
    limit_ms = round((free.point.ttft.high + long_s) / 2 * 1e3)  # between what average and long prompts get
    (said,) = caveats(bank(asked={"ttft_p95_ms": limit_ms}).sizings[0])
    assert said.startswith("prompts of 5,000 tokens, the 95th percentile of branches: TTFT (")
    assert said.endswith(f"above {limit_ms:,} ms")


def test_calls_that_a_server_does_not_take_are_counted() -> None:
    found = caveats(bank(asked={"input_tokens": 16_000, "input_tokens_p95": 40_000, "ttft_p95_ms": 60_000}).sizings[0])
    assert found[0] == "9 % of the calls of branches exceed max_model_len 32,768 and are refused"


@given(st.floats(10, 1e6), st.floats(1.01, MAX_P95_RATIO), st.floats(0.01, 0.99))
def test_as_many_are_longer_as_a_lognormal_has(mean: float, spread: float, share: float) -> None:
    lengths = Lengths(mean, mean * spread)
    assert lengths.share_above(lengths.p95) == pytest.approx(0.05, abs=1e-4)
    assert lengths.share_above(lengths.p99) == pytest.approx(0.01, abs=1e-4)
    assert lengths.share_above(0) == 1
    # The quantile of a lognormal with that mean and 95th percentile, from its definition.
    z = NormalDist().inv_cdf(0.95)
    sigma = z - (z * z - 2 * log(spread)) ** 0.5
    quantile = mean * exp(NormalDist().inv_cdf(1 - share) * sigma - sigma * sigma / 2)
    assert lengths.share_above(quantile) == pytest.approx(share, abs=1e-3)
