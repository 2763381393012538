"""nvbandwidth: text and JSON give the same rates, and an output that is not whole gives none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.facts.benchmarks.nvbandwidth import median_matrix, parse_nvbandwidth
from sovctl.engine.facts.unreadable import Unreadable

TEXT = """\
nvbandwidth Version: v0.8
Built from Git version: v0.8

CUDA Runtime Version: 13000
CUDA Driver Version: 13000
Driver Version: 580.126.20

n1
Device 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)
Device 1: NVIDIA H100 80GB HBM3 (00000000:43:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.21     55.30

SUM host_to_device_memcpy_ce 110.51

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    392.10
 1    391.90       N/A

SUM device_to_device_memcpy_read_ce 784.00

NOTE: The reported results may not reflect the full capabilities of the platform.
Performance can vary with software drivers, hardware clocks, and system topology.
"""
JSON = json.dumps(
    {
        "nvbandwidth": {
            "GPU Device list": [
                "0: NVIDIA H100 80GB HBM3 (00000000:1b:00): (n1)",
                "1: NVIDIA H100 80GB HBM3 (00000000:43:00): (n1)",
            ],
            "testcases": [
                {
                    "name": "host_to_device_memcpy_ce",
                    "status": "Passed",
                    "bandwidth_matrix": [["55.21", "55.3"]],
                    "sum": 110.51,
                },
                {
                    "name": "device_to_device_memcpy_read_ce",
                    "status": "Passed",
                    "bandwidth_matrix": [["N/A", "392.1"], ["391.9", "N/A"]],
                    "sum": 784.0,
                },
            ],
            "version": "v0.8",
        }
    },
    indent=1,
)


def test_text_and_json_give_the_same_rates() -> None:
    assert parse_nvbandwidth(TEXT) == parse_nvbandwidth(JSON)
    assert parse_nvbandwidth(TEXT).matrix("device_to_device_memcpy_read_ce") == ((None, 392.1), (391.9, None))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "nvbandwidth Version"),
        ("{}", "the key nvbandwidth"),
        (json.dumps({"nvbandwidth": {"error": "cuInit failed"}}), "cuInit failed"),
        (JSON.replace("Passed", "Waived", 1), "Waived"),
        (JSON.replace('"55.3"', '"-1"'), "a rate"),
        (JSON.replace('"55.3"', '"inf"'), "a rate"),
        (TEXT.replace("SUM host_to_device_memcpy_ce 110.51\n", ""), "one line `SUM host_to_device"),
        (TEXT.replace(" 1    391.90", " 2    391.90"), "row 1"),
        (TEXT.replace("           0         1\n", "           0         2\n", 1), "column numbers"),
        (TEXT.replace("Device 1:", "Device 0:"), "Device N"),
        (TEXT.replace("Running device_to_device_memcpy_read_ce.", "Running host_to_device_memcpy_ce."), "SUM"),
    ],
)
def test_output_that_is_not_whole_gives_no_rate(text: str, word: str) -> None:
    with pytest.raises(Unreadable, match=word):
        parse_nvbandwidth(text).matrix("host_to_device_memcpy_ce")


def test_a_test_that_failed_after_its_start_gives_no_rate() -> None:
    cases = [{"name": "host_to_device_memcpy_ce", "status": status} for status in ("Running", "Error")]
    document = json.loads(JSON)
    document["nvbandwidth"]["testcases"] = cases
    with pytest.raises(Unreadable, match="got 'Error'"):
        parse_nvbandwidth(json.dumps(document)).matrix("host_to_device_memcpy_ce")


@given(st.sampled_from([TEXT, JSON]), st.data())
def test_a_cut_output_gives_no_rate_of_the_last_test(text: str, data: st.DataObject) -> None:
    last = "device_to_device_memcpy_read_ce"
    end = text.index(f"SUM {last}") if text is TEXT else text.rindex("}")
    cut = text[: data.draw(st.integers(0, end))]
    with pytest.raises(Unreadable):
        parse_nvbandwidth(cut).matrix(last)


def test_the_median_of_each_cell_ignores_one_outlier() -> None:
    assert median_matrix([((1.0, None),), ((9.0, None),), ((2.0, 5.0),)]) == ((2.0, None),)
    with pytest.raises(Unreadable, match="one size"):
        median_matrix([((1.0,),), ((1.0, 2.0),)])


@pytest.mark.shared
def test_a_capture_of_version_0_6_has_its_rates_and_waived_tests(captures: Path) -> None:
    found = parse_nvbandwidth((captures / "nvbandwidth/gh200__microsoft-superbenchmark.txt").read_text())
    assert found.version == "0.6"
    assert found.devices == {0: "00000009:01:00"}
    assert found.matrix("device_to_host_memcpy_ce") == ((295.15, 312.11),)
    with pytest.raises(Unreadable):
        found.matrix("device_to_device_memcpy_read_ce")
