"""Node names in short notation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.cli.views.node_names import fold

CASES = {
    "n1": ["n1"],
    "n[1-2], s1": ["n1", "n2", "s1"],
    "dgx-[01-02,04], gw": ["dgx-01", "dgx-02", "gw", "dgx-04"],
    "n[8-11]": ["n8", "n9", "n10", "n11"],
    "dgx-[08-10], dgx-100": ["dgx-08", "dgx-09", "dgx-10", "dgx-100"],
    "": [],
}


@pytest.mark.parametrize(("short", "names"), CASES.items())
def test_numbers_of_one_series_become_ranges(short: str, names: list[str]) -> None:
    assert fold(names) == short


@given(st.lists(st.integers(0, 30), unique=True, min_size=1), st.booleans())
def test_every_name_can_be_read_back(numbers: list[int], padded: bool) -> None:
    names = [f"n{number:02d}" if padded else f"n{number}" for number in numbers]
    assert sorted(_unfolded(fold(names))) == sorted(names)


def _unfolded(text: str) -> list[str]:
    found = []
    for part in text.replace(", ", ";").split(";"):
        stem, _, ranges = part.partition("[")
        for each in ranges.rstrip("]").split(",") if ranges else [""]:
            low, _, high = each.partition("-")
            found += [f"{stem}{n:0{len(low)}d}" for n in range(int(low), int(high or low) + 1)] if low else [stem]
    return found
