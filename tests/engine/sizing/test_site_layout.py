"""From pools to nodes, racks, switches and disks; what nobody has written down is said, not guessed."""

from __future__ import annotations

from datetime import date
from math import ceil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from preset_values import preset_values

from sovctl.engine.catalog import load_catalog
from sovctl.engine.catalog.platforms import load_platforms, load_scalable_units
from sovctl.engine.sizing.pool.autoscaler import FORMS, Bounds, bounds_of, load_s
from sovctl.engine.sizing.pool.pool import PoolSizing, pool_cases, size_pool
from sovctl.engine.sizing.site.costs import MonthlyCosts, costs_of
from sovctl.engine.sizing.site.data_hall import Layout, nodes_for, site_layout, switches
from sovctl.engine.sizing.site.scalable_units import shares
from sovctl.engine.spec import SiteSpec
from sovctl.engine.validation.load import parse
from sovctl.engine.validation.presets import FOLDER

BANK = preset_values("bank-hybrid")
BANK["perimeter"]["exceptions"][0]["expires"] = "2036-12-31"


def bank(**sizing: Any) -> tuple[SiteSpec, list[PoolSizing], Layout]:
    """The bank with other parts of `sizing`."""
    value = {**BANK, "sizing": {**BANK["sizing"], **sizing}}
    text = yaml.safe_dump(value).encode()
    spec = parse(text, path=Path("site.yaml"), today=date(2026, 11, 21), catalog=load_catalog(), is_draft=True).spec
    sizings = [size_pool(case) for case in pool_cases(spec, load_catalog())]
    return spec, sizings, site_layout(spec, load_catalog(), sizings)


# NVIDIA, DGX SuperPOD reference architecture B200, table of larger counts (read 2026-11-22), 64-port switches: leaves,
# spines, cores, cables from nodes to leaves and from tier to tier.
@pytest.mark.parametrize(
    ("nodes", "leaves", "spines", "cores", "cables"),
    [
        (64, 16, 8, 0, 1024),
        (128, 32, 16, 0, 2048),
        (256, 64, 32, 0, 4096),
        (512, 128, 128, 64, 3 * 4096),
        (1024, 256, 256, 128, 3 * 8192),
        (2048, 512, 512, 256, 3 * 16384),
    ],
)
def test_the_fabric_is_the_superpods(nodes: int, leaves: int, spines: int, cores: int, cables: int) -> None:
    found = switches(nodes, 8, 64)
    assert found is not None
    assert (found.leaves, found.spines, found.cores, found.cables) == (leaves, spines, cores, cables)
    assert switches(10_000, 8, 64) is None


# NVIDIA's reference architectures: units of 32 DGX B200, of 64 (Ethernet) or 72 (XDR) DGX B300, of 8 racks GB200.
@pytest.mark.parametrize(
    ("platform", "nodes", "units"),
    [
        ("dgx-b200", 1, {"SuperPOD-B200": 1}),
        ("dgx-b200", 64, {"SuperPOD-B200": 2}),
        ("dgx-b200", 65, {"SuperPOD-B200": 3}),
        ("dgx-b300", 72, {"SuperPOD-B300-Ethernet": 2, "SuperPOD-B300-XDR": 1}),
        ("dgx-gb200-nvl72", 144, {"SuperPOD-GB200": 1}),
        ("dgx-gb200-nvl72", 145, {"SuperPOD-GB200": 2}),
        ("l40s-4", 9, {}),
    ],
)
def test_nodes_are_counted_in_whole_units_of_the_superpod(platform: str, nodes: int, units: dict[str, int]) -> None:
    found = shares(load_scalable_units(), load_platforms()[platform], nodes)
    assert {share.id: share.units for share in found} == units
    assert all(share.nodes + share.spare_nodes == share.units * share.unit_nodes for share in found)


def test_every_unit_of_the_catalogue_is_offered_for_its_platform() -> None:
    for unit in load_scalable_units().values():
        platform = load_platforms()[unit.platform]
        (share,) = (each for each in shares(load_scalable_units(), platform, 1) if each.id == unit.id)
        assert share.unit_nodes * platform.gpus == (unit.gpus_per_su or share.unit_nodes * 8)


def test_one_node_needs_no_switch_a_few_need_one_and_the_next_tier_begins_where_it_must() -> None:
    alone, few = switches(1, 8, 64), switches(8, 8, 64)
    assert alone is not None
    assert few is not None
    assert alone.leaves == 0
    assert (few.leaves, few.spines, few.cables) == (1, 0, 64)
    two, three = switches(256, 8, 64), switches(257, 8, 64)
    assert two is not None
    assert three is not None
    assert (two.cores, three.cores > 0) == (0, True)


@given(st.integers(1, 300), st.sampled_from([4, 8]), st.sampled_from([32, 64, 128]))
def test_no_switch_has_more_links_than_ports(nodes: int, rails: int, ports: int) -> None:
    found = switches(nodes, rails, ports)
    if found is not None:
        assert nodes * rails <= found.leaves * ports or nodes == 1
        assert found.cables - nodes * rails <= found.spines * ports


@given(st.lists(st.tuples(st.integers(1, 20), st.sampled_from([1, 2, 4, 8, 16])), min_size=1, max_size=6))
def test_nodes_hold_every_replica_and_none_is_wasted(replicas: list[tuple[int, int]]) -> None:
    gpus = sum(number * size for number, size in replicas)
    assert nodes_for(replicas, 8) == ceil(gpus / 8)  # sizes that divide a node leave no hole


def test_odd_sizes_leave_holes() -> None:
    assert nodes_for([(3, 5)], 8) == 3
    assert nodes_for([(3, 5), (3, 3), (1, 2)], 8) == 4
    assert nodes_for([(2, 6), (1, 3), (4, 1), (1, 16)], 8) == 2 + 3  # the four fill what the six leave


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 20)), max_size=4), st.integers(1, 10))
def test_nodes_are_no_fewer_than_gpus_need_and_no_more_than_replicas(
    replicas: list[tuple[int, int]], gpus: int
) -> None:
    whole = sum(number * ceil(size / gpus) for number, size in replicas if size >= gpus)
    parts = [(number, size) for number, size in replicas if size < gpus]
    found = nodes_for(replicas, gpus) - whole
    assert ceil(sum(number * size for number, size in parts) / gpus) <= found <= sum(number for number, _ in parts)


def test_a_crowd_is_counted_as_fast_as_a_few() -> None:
    crowd = 10**12
    assert nodes_for([(crowd, 4), (crowd, 2), (3, 1)], 8) == crowd // 2 + crowd // 4 + 1


def test_racks_follow_from_power_and_height() -> None:
    _, _, layout = bank(racks={"rack_kw": 20, "node_kw": {"l40s": 2.5, "service": 0.8}})
    dgx, l40s, service = layout.groups
    assert (dgx.nodes_per_rack, dgx.racks) == (1, dgx.nodes)  # 10.2 kW each: two don't fit into 20 kW
    assert l40s.nodes_per_rack == 8
    assert service.racks == 1
    assert layout.racks == dgx.racks + (l40s.racks or 0) + 1
    _, _, tall = bank(racks={"rack_kw": 200, "node_kw": {"l40s": 2.5, "service": 0.8}})
    assert tall.groups[0].nodes_per_rack == 4  # 8 units each, 38 free: height binds


def test_a_power_that_nobody_knows_is_said() -> None:
    _, _, layout = bank(racks={"rack_kw": 20})
    assert layout.racks is None
    assert any("set sizing.racks.node_kw.l40s" in each for each in layout.problems)


def test_a_node_that_no_rack_feeds_and_racks_that_are_not_there_are_said() -> None:
    powers = {"l40s": 2.5, "service": 0.8}
    _, _, weak = bank(racks={"rack_kw": 8, "node_kw": powers})
    assert any("one dgx-h100 draws 10.2 kW, above sizing.racks.rack_kw = 8" in each for each in weak.problems)
    _, _, small = bank(racks={"rack_kw": 20, "count": 1, "node_kw": powers})
    assert any("expected at most 1 racks" in each for each in small.problems)


def test_a_node_stores_the_new_version_beside_the_old() -> None:
    _, _, one = bank(storage={"versions": 1})
    _, _, two = bank(storage={"versions": 2})
    assert two.groups[0].store_bytes == 2 * one.groups[0].store_bytes > 200e9


def test_a_node_stores_what_its_own_pools_serve() -> None:
    value = yaml.safe_load((FOLDER / "superpod-b200.yaml").read_text())
    text = yaml.safe_dump(value).encode()
    spec = parse(text, path=Path("site.yaml"), today=date(2026, 11, 21), catalog=load_catalog()).spec
    sizings = [size_pool(case) for case in pool_cases(spec, load_catalog())]
    (su1, _) = site_layout(spec, load_catalog(), sizings).groups
    largest = max(each.server.weights.total_bytes() for each in sizings if each.server)
    assert su1.store_bytes == 2 * largest


def money(**costs: Any) -> MonthlyCosts:
    spec, sizings, layout = bank(costs={**BANK["sizing"]["costs"], **costs})
    found = costs_of(spec, layout, sizings)
    assert found is not None
    return found


def test_what_is_bought_comes_back_over_the_years() -> None:
    found = money(support_percent_per_year=0, energy_per_kwh=0, rack_per_year=0, staff_per_year=0)
    dgx = bank()[2].groups[0].nodes
    assert (
        found.own_in_all
        == pytest.approx(found.bought)
        == pytest.approx(dgx * 300_000 + 2 * 45_000 + 2 * 9_000 + 40_000)
    )


def test_break_even_is_cost_over_price_and_depends_on_use_only_by_energy() -> None:
    used = [money(busy_hours_per_month=hours).break_even_requests or 0 for hours in (50, 500)]
    assert used[0] < used[1] < 1.05 * used[0]
    quiet, busy = (money(busy_hours_per_month=hours, energy_per_kwh=0) for hours in (50, 500))
    assert quiet.break_even_requests == pytest.approx(busy.break_even_requests)
    assert busy.api_per_month == pytest.approx(10 * (quiet.api_per_month or 0))
    per_request = (busy.api_per_month or 0) / busy.volume.requests
    assert (busy.break_even_requests or 0) * per_request == pytest.approx(busy.own_per_month)
    volume = busy.volume
    share = (busy.break_even_tokens or 0) / (volume.input_tokens + volume.output_tokens)
    assert share * (busy.api_per_month or 0) == pytest.approx(busy.own_per_month)


def test_buying_pays_back_when_rent_saved_makes_up_for_what_was_bought() -> None:
    found = money()
    months = found.pays_back_months
    assert months is not None
    running = found.own_per_month - found.bought / (found.years * 12)
    assert found.bought + running * months == pytest.approx((found.rent_per_month or 0) * months)
    assert money(rent_per_gpu_hour=0.01).pays_back_months is None


def test_what_has_no_price_is_absent_and_named() -> None:
    found = money(
        nodes={"dgx": 300_000}, rent_per_gpu_hour=None, input_price_per_million=None, output_price_per_million=None
    )
    assert found.rent_per_month is None
    assert found.api_per_month is None
    assert found.unknown == ("no price for a node of l40s", "no price for a node of service")
    spec, sizings, layout = bank(costs=None)
    assert costs_of(spec, layout, sizings) is None


def bounds(**scaling: Any) -> Bounds:
    spec, sizings, _ = bank(autoscaling={"prometheus_url": "http://10.20.0.9:9090", **scaling})
    found = bounds_of(sizings[0], spec.sizing)
    assert found is not None
    return found


def test_bounds_are_within_what_is_there_and_keep_the_spare() -> None:
    found = bounds(min_replicas_percent=0)
    assert 1 <= found.spare_replicas < found.min_replicas <= found.max_replicas
    assert found.scale_down_delay_s >= max(120, 2 * found.lead_time_s - 1)
    assert "a start takes" in found.min_replicas_reason


@pytest.mark.parametrize(
    ("busy", "start", "end"),
    [
        ({"days": "1-5", "start": "08:00", "end": "18:00"}, "56 7 * * 1,2,3,4,5", "0 18 * * 1,2,3,4,5"),
        ({"days": "1-5", "start": "00:00", "end": "06:00"}, "56 23 * * 0,1,2,3,4", "0 6 * * 1,2,3,4,5"),
        ({"days": "6-0", "start": "22:00", "end": "04:00"}, "56 21 * * 0,6", "0 4 * * 0,1"),
        ({"days": "3", "start": "12:00", "end": "13:00"}, "56 11 * * 3", "0 13 * * 3"),
    ],
)
def test_replicas_start_before_they_are_needed_also_past_midnight(busy: dict[str, str], start: str, end: str) -> None:
    (found,) = bounds(busy_hours=[busy]).prescales  # 221 s to load: four minutes
    assert (found.start, found.end) == (start, end)


def test_a_slow_store_takes_longer_and_an_unknown_one_the_longest() -> None:
    assert load_s(100e9, 10) < load_s(100e9, 1) < load_s(100e9, None)


def test_every_form_carries_the_same_bounds() -> None:
    found = bounds(busy_hours=[{"start": "08:00", "end": "18:00"}])
    keda, kserve, ray = (FORMS[name](found) for name in ("keda", "kserve", "ray"))
    assert (keda["spec"]["minReplicaCount"], keda["spec"]["maxReplicaCount"]) == (
        found.min_replicas,
        found.max_replicas,
    )
    metric, cron = keda["spec"]["triggers"]
    assert "vllm:num_requests_waiting" in metric["metadata"]["query"]
    assert metric["metadata"]["ignoreNullValues"] == "false"
    assert cron["metadata"]["desiredReplicas"] == str(found.prescales[0].replicas)
    assert all(type(value) is str for each in keda["spec"]["triggers"] for value in each["metadata"].values())
    assert kserve["spec"]["predictor"]["minReplicas"] == ray["autoscaling_config"]["min_replicas"] == found.min_replicas
    assert ray["autoscaling_config"]["target_ongoing_requests"] <= ray["max_ongoing_requests"]
