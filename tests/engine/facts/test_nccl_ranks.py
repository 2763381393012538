"""Parser of the program that runs NCCL over several nodes, and the errors of the program without GPUs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.facts.benchmarks.nccl_ranks import parse_ended_ranks, parse_rank_test
from sovctl.engine.facts.unreadable import Unreadable
from sovctl.support.package_files import package_folder

HEAD = {"torch": "2.13.0", "nccl": "2.28.9", "ranks": 16, "devices": ["NVIDIA H100 80GB HBM3"]}
SCRIPT = package_folder("engine/checks/probes/scripts") / "nccl_ranks.py"


def output(*rows: dict[str, Any], **head: Any) -> str:
    """Lines of rank 0."""
    return "".join(json.dumps(each) + "\n" for each in (HEAD | head, *rows))


def row(run: int, **changes: Any) -> dict[str, Any]:
    """One run of 16 GiB at 487 GB/s."""
    return {"run": run, "size_bytes": 16 << 30, "time_us": 66145.0, "wrong": 0} | changes


def test_the_bus_bandwidth_is_that_of_nccl_tests() -> None:
    test = parse_rank_test(output(row(1), row(2)))
    assert (test.nccl, test.ranks, len(test.runs)) == ("2.28.9", 16, 2)
    assert test.runs[0].bus_gb_s(16) == pytest.approx(487.0, abs=0.1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        output(),
        output(row(2)),
        output(row(1), row(3)),
        output(row(1, time_us=0)),
        output(row(1, time_us="fast")),
        output(row(1, wrong=-1)),
        output(row(1, size_bytes=0)),
        output(row(1), ranks=True),
        output(row(1))[:-30],
        "1 GPUs are needed, 0 were found",
    ],
)
def test_incomplete_and_impossible_output_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_rank_test(text)


def test_ended_ranks_of_another_node_are_a_number() -> None:
    assert parse_ended_ranks('{"node": 1, "ended": 8}\n') == 8
    for text in ("", "{}", '{"ended": 0}', '{"ended": true}', "8"):
        with pytest.raises(Unreadable):
            parse_ended_ranks(text)


@given(st.text(max_size=100))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    for parse in (parse_rank_test, parse_ended_ranks):
        try:
            parse(text)
        except Unreadable:
            continue


@pytest.mark.skipif(shutil.which("ip") is None, reason="needs ip of iproute2")
def test_the_program_ends_with_an_error_without_the_address_and_without_pytorch() -> None:
    for address, message in (("192.0.2.7", "no interface has the address"), ("127.0.0.1", "torch")):
        words = ["1", "2", "1", "127.0.0.1", "1", address, "4096", "1"]
        done = subprocess.run(
            [sys.executable, "-B", "-S", "-c", SCRIPT.read_text(), *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert message in done.stderr
