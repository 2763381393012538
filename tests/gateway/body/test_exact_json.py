"""JSON that is sent as it was inspected."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.body.exact_json import NumberText, dumps, has_duplicates, loads, number_text

KEYS = st.text(alphabet='ab":\\ ', max_size=3)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**30), 10**30),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(alphabet='a":\\ 0', max_size=5),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.lists(st.tuples(KEYS, inner), max_size=3)),
    max_leaves=8,
)


def written(value: Any, spaces: str) -> str:
    """The document of a value in which lists of pairs are objects; a key may occur twice."""
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        return "{" + ",".join(f"{json.dumps(k)}{spaces}:{spaces}{written(v, spaces)}" for k, v in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(item, spaces) for item in value) + "]"
    return json.dumps(value)


def keys_in(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(keys_in, value.values()))
    return sum(map(keys_in, value)) if isinstance(value, list) else 0


@examples(400)
@given(VALUES, st.sampled_from(["", " ", "\n\t"]))
def test_numbers_and_repeated_keys_are_as_python_reads_them(value: Any, spaces: str) -> None:
    text = written(value, spaces)
    decoded = loads(text)
    assert json.loads(dumps(decoded)) == json.loads(text)
    repeated: list[bool] = []
    json.loads(text, object_pairs_hook=lambda pairs: repeated.append(len(dict(pairs)) < len(pairs)) or dict(pairs))
    assert has_duplicates(text, keys_in(decoded)) == any(repeated)


@pytest.mark.parametrize(
    ("literal", "read"),
    [
        ("61109010140000071219812874", "61109010140000071219812874"),
        ("6.1109010140000071219812874e25", "61109010140000071219812874"),
        ("4111111111111111.0", "4111111111111111"),
        ("4.111111111111111E15", "4111111111111111"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("12345678901234567.89", "12345678901234567.89"),
        ("1.50", "1.5"),
    ],
)
def test_a_number_is_read_with_all_digits(literal: str, read: str) -> None:
    assert number_text(loads(f"[{literal}]")[0]) == read
    assert json.loads(dumps(loads(f"[{literal}]"))) == [json.loads(literal)]


def test_a_number_of_many_digits_is_written_as_it_was() -> None:
    literal = "9" * 300
    assert isinstance(loads(f"[{literal}]")[0], NumberText)
    assert dumps(loads(f"[{literal}]")) == f"[{literal}]".encode()


@pytest.mark.parametrize("text", ["{", '{"a":NaN}', '{"a":1e400}', '"\\ud800"', "[" * 2000])
def test_an_invalid_document_is_none(text: str) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        loads(text)
