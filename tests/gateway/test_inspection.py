"""Inspection: what needs a decoder is seen whatever stands around it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.inspection import _has_long_run


@given(st.lists(st.one_of(st.integers(1, 400).map(lambda n: "x" * n), st.sampled_from([" ", "  ", "\n", "a\tb"]))))
def test_no_long_run_is_overlooked(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert _has_long_run(text) or not re.search(r"[A-Za-z0-9+/_-]{160,}", text)


def test_prose_has_none() -> None:
    assert not _has_long_run("The branch is open from nine to five, and on Saturdays until noon. " * 40)
