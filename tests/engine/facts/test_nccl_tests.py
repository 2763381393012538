"""Parsers of nccl-tests and of NCCL's log: real outputs, and no number from an incomplete or contradictory one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmark_samples import GIB, nccl_log, nccl_row, nccl_test
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.facts.benchmarks.nccl_log import parse_nccl_log
from sovctl.engine.facts.benchmarks.nccl_tests import parse_nccl_test
from sovctl.engine.facts.unreadable import Unreadable


def test_a_run_has_its_versions_ranks_and_rows() -> None:
    test = parse_nccl_test(nccl_test())
    assert (test.program, test.version, test.nccl_code) == ("all_reduce_perf", "2.19.6", 22703)
    assert [rank.index for rank in test.ranks] == list(range(8))
    assert {rank.device for rank in test.ranks} == {"NVIDIA H100 80GB HBM3"}
    row = test.row(8 * GIB)
    assert (row.bus_gb_s, row.wrong, test.out_of_bounds) == (470.0, 0, 0)
    assert row.bus_factor == pytest.approx(2 * 7 / 8, rel=1e-3)
    with pytest.raises(Unreadable, match="one row of 1 bytes"):
        test.row(1)


def test_wrong_results_are_counted_and_results_that_were_not_compared_are_none() -> None:
    wrong = parse_nccl_test(nccl_test(wrong="12"))
    assert (wrong.row(8 * GIB).wrong, wrong.out_of_bounds) == (24, 48)
    assert parse_nccl_test(nccl_test(wrong="1e+06")).row(8 * GIB).wrong == 2_000_000
    assert parse_nccl_test(nccl_test(wrong="N/A")).row(8 * GIB).wrong is None


def test_lines_of_the_log_and_numbers_of_processes_are_no_part_of_a_row() -> None:
    lines = nccl_test().splitlines(keepends=True)
    text = "".join(f"0: {line}" for line in lines) + nccl_log()
    assert parse_nccl_test(text).row(8 * GIB).bus_gb_s == 470.0


@pytest.mark.parametrize(
    ("change", "to", "reason"),
    [
        ("# Out of bounds values : 0 OK\n", "", "Out of bounds values"),
        ("0 OK", "0 FAILED", "OK without wrong values"),
        ("# Avg bus bandwidth    : 385 \n", "", "Avg bus bandwidth"),
        ("# Avg bus bandwidth    : 385 ", "# Avg bus bandwidth    : nan ", "the average"),
        ("# Avg bus bandwidth    : 385 ", "# Avg bus bandwidth    : 470 ", "an average of 470"),
        (nccl_row(4 * GIB, 300.0), "", "an average of 385"),
        (nccl_row(8 * GIB, 470.0), nccl_row(8 * GIB, 470.0)[:60] + "\n", "a row of sizes"),
        ("470.00", "940.00", "an average"),
        ("268.57", "537.14", "algbw of"),
        ("Rank  3", "Rank  4", "each rank once"),
        ("   algbw   busbw #wrong\n", "   algbw\n", "columns of two measurements"),
        ("# Out", "Test NCCL failure all_reduce.cu:48 'unhandled cuda error'\n# Out", "a row of sizes"),
    ],
)
def test_incomplete_and_contradictory_output_is_unreadable(change: str, to: str, reason: str) -> None:
    text = nccl_test()
    assert change in text
    with pytest.raises(Unreadable, match=re.escape(reason)):
        parse_nccl_test(text.replace(change, to))


@pytest.mark.parametrize("text", ["", "\n", "Invalid number of GPUs: 8 requested but only 7 were found.\n"])
def test_output_without_a_test_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_nccl_test(text)


@given(st.data())
def test_any_cut_of_the_output_before_its_summary_is_unreadable(data: st.DataObject) -> None:
    text = nccl_test()
    with pytest.raises(Unreadable):
        parse_nccl_test(text[: data.draw(st.integers(0, text.index("# Avg") + 10))])


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    for parse in (parse_nccl_test, parse_nccl_log):
        try:
            parse(text)
        except Unreadable:
            continue


def test_the_log_states_whether_nvlink_sharp_is_used() -> None:
    log = parse_nccl_log(nccl_log())
    assert (log.version, log.uses_nvls, log.multicast[7]) == ("2.27.3", True, True)
    off = parse_nccl_log(nccl_log(channels=0, has_multicast=False))
    assert (off.uses_nvls, off.multicast) == (False, dict.fromkeys(range(8), False))
    one = parse_nccl_log(nccl_log().replace("16 nvls", "0 nvls", 1))
    assert one.uses_nvls is False
    silent = parse_nccl_log("n1:7:7 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n")
    assert silent.uses_nvls is None
    assert parse_nccl_log("n1:7:7 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n").is_nvls_disabled


def test_a_log_without_lines_of_nccl_or_with_two_reports_of_a_device_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="lines of NCCL"):
        parse_nccl_log("bash: all_reduce_perf: command not found\n")
    with pytest.raises(Unreadable, match="one report of device 0"):
        parse_nccl_log(nccl_log() + nccl_log(has_multicast=False))


@pytest.mark.shared
def test_a_real_run_of_eight_a100_has_34_rows_that_agree_with_its_average(captures: Path) -> None:
    test = parse_nccl_test((captures / "nccl-tests/8xa100-allreduce__microsoft-superbenchmark.txt").read_text())
    assert (len(test.rows), len(test.ranks), test.out_of_bounds) == (34, 8, 0)
    assert test.row(8 * GIB).bus_gb_s == 235.03
    assert test.row(8 * GIB).wrong is None  # the run did not compare results
    assert test.row(8 * GIB).bus_factor == pytest.approx(1.75, rel=0.01)


@pytest.mark.shared
def test_a_real_run_of_two_nodes_without_its_summary_is_cut_and_has_the_factor_of_sixteen_ranks(captures: Path) -> None:
    name = "nccl-tests/16xh100-2node-p5-allreduce__aws-samples-awsome-distributed-training.txt"
    text = (captures / name).read_text()
    with pytest.raises(Unreadable, match="Out of bounds"):
        parse_nccl_test(text)
    busses = [float(word) for line in text.splitlines()[2:] for word in (line.split()[8], line.split()[12])]
    summary = f"0: # Out of bounds values : 0 OK\n0: # Avg bus bandwidth : {sum(busses) / len(busses):g}\n"
    test = parse_nccl_test(text + summary)
    assert test.row(16 * GIB).bus_gb_s == 487.09
    assert test.row(16 * GIB).bus_factor == pytest.approx(2 * 15 / 16, rel=0.01)
    assert test.row(16 * GIB).wrong == 0
