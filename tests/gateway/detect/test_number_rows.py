"""Rows and tables of plain numbers hold no identifiers by chance, and identifiers that stand in rows are found."""

from __future__ import annotations

import pytest
from cpu_time import least_cpu_s

from sovctl.gateway.detect import Detector, make_detector
from sovctl.gateway.settings import DetectSettings


@pytest.fixture(scope="module")
def detector() -> Detector:
    return make_detector(DetectSettings(phone_regions=["DE", "US"]))


def found(detector: Detector, text: str) -> list[str]:
    return [text[finding.start : finding.end] for finding in detector.find(text)]


@pytest.mark.parametrize(
    "text",
    [
        "55134 35601 5 781 85033 431 34 4577 690 2105 6 8",
        "5425 1652 1164 3592 5220 4335 1977 3244 7558 4705 9277",
        "northern 12 345 678 99\nsouthern 4 1204 771 6\nwestern 30 901 820 12\neastern 7 2 90 1",
        "1.3.6.1.4.1.311.21.20",
        "12-345-67-8901-234-567-89-12",
        "0.41 (12) 345 (67) 8901 (23) 456 (78)",
        "0000160 071366 003353 000137 133441 033511 101710 137672 000672",
        "87.6827, 90.0716\n13.3410, 107.0886\n80.6012, 12.0004",
        "c4 d2 ac 17 18 77 41 cc 3c 9a 7f 02 aa bb 10 11\n00000050  7d48 0c35 d82f 9e09 5e00 c8cb 4081 1029",
        "northern 12 345 678 99\nsouthern 212 555 0123 6\nwestern 30 901 820 12\neastern 7 2 90 1",
        "3;4.683\n2022;71;99\n2023;4;5",
        "r b si wa st\n1 0 77 7 4576 60718 5607\n2 0 12 4 9188 37860 4114\n0 1 75 9 8122 12345 9120",
    ],
)
def test_what_a_row_or_a_table_holds_by_chance_is_not_found(detector: Detector, text: str) -> None:
    assert found(detector, text) == []


@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("4111 1111 1111 1111", ["4111 1111 1111 1111"]),
        ("4111 1111 1111 1111 12 27 123", ["4111 1111 1111 1111"]),
        (
            "4111 1111 1111 1111 5555 5555 5555 4444 4242 4242 4242 4242",
            ["4111 1111 1111 1111", "5555 5555 5555 4444", "4242 4242 4242 4242"],
        ),
        ("17 18 19 card 4111 1111 1111 1111 20 21 22 23 24 25 26 27", ["4111 1111 1111 1111"]),
        ("4111 1111\n1111 1111", ["4111 1111\n1111 1111"]),
        ("be a dead face: 4111 1111 1111 1111", ["4111 1111 1111 1111"]),
        ("dead beef cafe 4111 1111 1111 1111", ["4111 1111 1111 1111"]),
        (
            "DE89 3704 0044 0532 0130 00  4111 1111 1111 1111",
            ["DE89 3704 0044 0532 0130 00", "4111 1111 1111 1111"],
        ),
        (
            "4111 1111 1111 1111 DE89 3704 0044 0532 0130 00",
            ["4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00"],
        ),
        (
            "first floor 30 212 555 0123\nsecond 41 646 555 0199\nthird 52 202 555 0111",
            ["212 555 0123", "646 555 0199", "202 555 0111"],
        ),
        ("Zimmer 4 12 030 901820 3", ["030 901820"]),
        ("7.25 030 901820\n8.50 0171 2345678\n9.75 089 123456", ["030 901820", "0171 2345678", "089 123456"]),
        ("12.50 0049.30 901820", ["0049.30 901820"]),
        ("17\t4111 1111 1111 1111\t3\n18\t5555 5555 5555 4444\t4", ["4111 1111 1111 1111", "5555 5555 5555 4444"]),
        ("12-" * 40 + "12\nMAC 12-34-56-78-90-12", ["12-34-56-78-90-12"]),
        ("212 555 0123 646 555 0199", ["212 555 0123", "646 555 0199"]),
        (" ".join(f"(212) 555-01{n}" for n in range(10, 20)), [f"(212) 555-01{n}" for n in range(10, 20)]),
        ("Call (212-555-0123)", ["212-555-0123"]),
        (" ".join(f"212-555-01{n}" for n in range(10, 30)), [f"212-555-01{n}" for n in range(10, 30)]),
        (
            "Weber 30 030 901820\nMaier 41 0171 2345678\nHuber 52 089 123456",
            ["030 901820", "0171 2345678", "089 123456"],
        ),
    ],
)
def test_identifiers_in_rows_are_found(detector: Detector, text: str, identifiers: list[str]) -> None:
    assert found(detector, text) == identifiers


def test_a_table_of_thousands_of_lines_takes_linear_time(detector: Detector) -> None:
    def seconds(lines: int) -> float:
        return least_cpu_s(lambda: detector.find("123 45-678 9\n" * lines), rounds=1)

    assert seconds(12_000) < 10 * max(seconds(3_000), 0.02)  # quadratic: sixteenfold
