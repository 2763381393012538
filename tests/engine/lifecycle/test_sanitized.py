"""Copies for a repair service: no original value is left, and the same value has the same pseudonym."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.lifecycle.sanitized import NotSanitized, sanitized

SECRET = b"invented secret of a site"
VALUES = [("node", "dgx-1"), ("node", "dgx-12"), ("serial", "1650000000001"), ("site", "bank")]


def clean(text: str) -> str:
    return sanitized(text, values=VALUES, secret=SECRET)


def test_names_serials_addresses_and_ids_become_pseudonyms() -> None:
    text = (
        "dgx-12 dgx-1 1650000000001 10.77.0.11 GPU-3f2504e0-4f89-11d3-9a0c-0305e82c3301 0200:0a1b:2c3d:4e5f "
        "b8:3f:d2:00:11:22 fe80:0:0:0:0200:0a1b:2c3d:4e60 BANK"
    )
    shown = clean(text)
    for original in ("dgx", "1650000000001", "10.77.0.11", "3f2504e0", "2c3d", "b8:3f", "bank"):
        assert original not in shown.lower()
    assert clean(text) == shown
    assert len(set(shown.split())) == len(text.split())


def test_the_same_value_has_the_same_pseudonym_and_another_site_has_another() -> None:
    assert clean("a dgx-1 b").split()[1] == clean("dgx-1")
    assert sanitized("dgx-1", values=VALUES, secret=b"another site") != clean("dgx-1")


def test_a_value_inside_of_a_longer_word_is_an_error() -> None:
    with pytest.raises(NotSanitized, match="no serial in the copy"):
        clean("X1650000000001Y")


@given(before=st.text(max_size=20), after=st.text(max_size=20))
def test_an_original_is_never_left(before: str, after: str) -> None:
    try:
        shown = clean(f"{before}1650000000001{after}")
    except NotSanitized:
        return
    assert "1650000000001" not in shown
