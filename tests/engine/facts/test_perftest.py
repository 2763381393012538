"""Parser of perftest: units, both sides of one run, and no number from an incomplete or contradictory output."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from benchmark_samples import perftest_bandwidth, perftest_latency
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.facts.benchmarks.perftest import parse_perftest
from sovctl.engine.facts.unreadable import Unreadable

REPORT = {
    "test_info": {"test": "RDMA_Write_BW_Test", "Device": "mlx5_0", "Mtu": 4096, "Link_type": "IB"},
    "results": {"MsgSize": 65536, "n_iterations": 5000, "BW_peak": 393.1, "BW_average": 392.5, "MsgRate": 0.748634},
}


def report(**changes: object) -> str:
    return json.dumps({**REPORT, "results": {**REPORT["results"], **changes}})


def test_bandwidth_has_its_device_link_and_unit() -> None:
    test = parse_perftest(perftest_bandwidth())
    assert (test.test, test.device, test.link_type, test.mtu) == ("RDMA_Write", "mlx5_0", "IB", 4096)
    (found,) = test.bandwidths
    assert (found.size_bytes, found.iterations, found.average_gbit_s) == (65536, 5000, 392.5)


@pytest.mark.parametrize("unit", ["MB/sec", "MiB/sec"])
def test_bandwidth_in_mebibytes_is_converted(unit: str) -> None:
    (found,) = parse_perftest(perftest_bandwidth(200.0, unit=unit)).bandwidths
    assert found.average_gbit_s == pytest.approx(200.0, rel=1e-4)


def test_both_sides_of_one_run_are_one_result() -> None:
    text = perftest_bandwidth() + "*" * 36 + "\n* Waiting for client to connect... *\n" + "*" * 36 + "\n"
    assert len(parse_perftest(text + perftest_bandwidth()).bandwidths) == 1
    with pytest.raises(Unreadable, match="one result of 65536 bytes"):
        parse_perftest(text + perftest_bandwidth(200.0))


def test_latency_has_its_median_and_99th_percentile() -> None:
    (found,) = parse_perftest(perftest_latency()).latencies
    assert (found.typical_us, found.average_us, found.percentile_99_us) == (2.11, 2.13, 2.41)


def test_the_json_report_has_the_same_values() -> None:
    assert parse_perftest(report()) == parse_perftest(perftest_bandwidth())
    latency = {"MsgSize": 2, "n_iterations": 1000, "t_typical": 2.11, "t_avg": 2.13, "percentile_99": 2.41}
    info = {**REPORT["test_info"], "test": "RDMA_Write_Latency_Test"}
    text = json.dumps({"test_info": info, "results": latency})
    assert parse_perftest(text).latencies == parse_perftest(perftest_latency()).latencies


@pytest.mark.parametrize(
    ("change", "to", "reason"),
    [
        ("RDMA_Write BW Test", "", "the title"),
        ("Device         : mlx5_0", "", "`Device`"),
        (" Link type       : IB\n", "", "`Link type`"),
        ("BW average[Gb/sec]", "BW average[furlongs]", "with its unit"),
        ("Gb/sec", "MB/sec", "by message rate"),
        ("0.748634", "0.374317", "by message rate"),
        (" #bytes ", " #octets ", "a line of perftest"),
        ("5000  ", "  ", "a number"),
    ],
)
def test_incomplete_and_contradictory_output_is_unreadable(change: str, to: str, reason: str) -> None:
    text = perftest_bandwidth()
    assert change in text
    with pytest.raises(Unreadable, match=re.escape(reason)):
        parse_perftest(text.replace(change, to))


@pytest.mark.parametrize(
    "text",
    ["", "Couldn't connect to 10.0.0.2:18515\n", "392.500000\n", "{}", report(BW_average="fast"), report()[:-20]],
)
def test_output_without_a_result_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_perftest(text)


@given(st.data())
def test_any_cut_before_the_result_is_unreadable(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([perftest_bandwidth(), perftest_latency(), report()]))
    end = text.rindex("\n", 0, len(text) - 90) if "\n" in text else len(text) - 1
    with pytest.raises(Unreadable):
        parse_perftest(text[: data.draw(st.integers(0, end))])


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    try:
        parse_perftest(text)
    except Unreadable:
        return


@pytest.mark.shared
def test_a_real_loopback_of_an_hdr_adapter_has_two_equal_sides(captures: Path) -> None:
    test = parse_perftest((captures / "perftest/ib_loopback_8M__microsoft-superbenchmark.txt").read_text())
    assert (test.device, test.link_type, test.mtu) == ("ib0", "IB", 4096)
    (found,) = test.bandwidths
    assert found.average_gbit_s == pytest.approx(201.8, abs=0.01)
