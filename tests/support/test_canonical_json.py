"""Canonical JSON: the bytes of RFC 8785, also where the fast encoder cannot produce them."""

from __future__ import annotations

from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from sovctl.support.canonical_json import canonical_json, digest, sha256_hex

_KEYS = st.text() | st.sampled_from(["a", "b", "\ue000", "\U0001f600"])
_NUMBERS = st.integers(-(2**55), 2**55) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(_KEYS, inner),
    max_leaves=20,
)


def _encoded(encode: Any, value: Any) -> bytes | type[Exception]:
    try:
        made: bytes = encode(value)
    except rfc8785.CanonicalizationError as error:
        return type(error)
    return made


@given(VALUES)
@example({"\U0001f600": 1, "\ue000": 2})
@example([1.0, -0.0, 0.0, 1e-5, 1e-6, 1e-7, 9e-5, 1e-4, 1e15, 1e16, 1e20, 1e21, 1e22, 123456789012345.5])
@example([2**53 - 1, -(2**53) + 1, 2**53])
@example('\x00\x1f\x7f\u2028"\\/\b\f\n\r\t')
@example("\ud800")
def test_values_have_the_bytes_of_rfc_8785(value: Any) -> None:
    assert _encoded(canonical_json, value) == _encoded(rfc8785.dumps, value)


def test_the_digest_is_that_of_the_bytes() -> None:
    value = {"b": 1.0, "a": ["ä", None, True]}
    assert canonical_json(value) == '{"a":["ä",null,true],"b":1}'.encode()
    assert digest(value) == sha256_hex(canonical_json(value))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2}, {"a": object()}, 2**53])
def test_rejects_values_without_canonical_form(value: Any) -> None:
    with pytest.raises(rfc8785.CanonicalizationError):
        canonical_json(value)
