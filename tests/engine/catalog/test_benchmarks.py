"""Acceptance limits: one row for each key, known boards, and bandwidths without NVLink SHARP below the limit."""

from __future__ import annotations

from sovctl.engine.catalog.benchmarks import load_benchmarks
from sovctl.engine.catalog.figure import read_catalog
from sovctl.engine.catalog.platforms import load_platforms


def test_every_row_is_unique_and_of_a_board_of_the_catalogue() -> None:
    rows = load_benchmarks().nccl
    keys = [(row.profile, row.nodes, row.gpus, row.collective) for row in rows]
    assert len(set(keys)) == len(keys)
    assert {row.profile for row in rows} <= set(read_catalog("platforms")["profiles"])
    rates = [row.link_gbit_s for row in load_benchmarks().rdma]
    assert len(set(rates)) == len(rates)


def test_the_number_of_gpus_of_a_row_is_that_of_its_platforms() -> None:
    gpus = {platform.profile: platform.gpus for platform in load_platforms().values() if platform.profile}
    assert all(gpus[row.profile] == row.gpus for row in load_benchmarks().nccl)


def test_limits_have_units_and_tell_a_missing_nvlink_sharp_from_a_healthy_board() -> None:
    for row in load_benchmarks().nccl:
        assert (row.minimum.unit, row.payload_bytes % (1 << 30)) == ("GB/s", 0)
        if row.without_nvls is not None:
            assert row.without_nvls.value * 1.05 < row.minimum.value  # type: ignore[operator]
    for limit in load_benchmarks().rdma:
        assert 0.85 * limit.link_gbit_s <= limit.write_minimum.value <= limit.link_gbit_s  # type: ignore[operator]
        assert (limit.write_minimum.unit, limit.write_latency_max.unit) == ("Gbit/s", "us")
