"""Keys of a position in JSON text: independent of chunks, and the keys under which a parser finds the value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.tokens.json_path import JsonPath

_TEXTS = st.text(st.sampled_from('ab"\\ é\n{}[]:,'), max_size=6)
_VALUES = st.recursive(
    st.none() | st.integers(0, 99) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


def paths(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every string that is a value, with the keys above it."""
    if isinstance(value, str):
        yield above, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*above, key))
    elif isinstance(value, list):
        for item in value:
            yield from paths(item, above)


@given(st.dictionaries(_TEXTS, _VALUES, max_size=3), st.booleans(), st.data())
@examples(200)
def test_keys_are_those_of_a_parser_in_any_chunks(
    document: dict[str, Any], is_ascii: bool, data: st.DataObject
) -> None:
    marked = json.loads(json.dumps(document))

    def mark(value: Any) -> Any:
        if isinstance(value, str):
            return value + "X"
        if isinstance(value, dict):
            return {key: mark(item) for key, item in value.items()}
        return [mark(item) for item in value] if isinstance(value, list) else value

    text = json.dumps(mark(marked), ensure_ascii=is_ascii)
    expected = [keys for keys, _ in paths(marked)]
    path, found = JsonPath(), []
    position = 0
    while position < len(text):
        end = text.find("X", position)
        end = len(text) if end < 0 else min(end, position + data.draw(st.integers(1, 5)))
        if end == position:
            found.append(path.keys)
            end = position + 1
        path.feed(text[position:end])
        position = end
    assert found == expected


@pytest.mark.parametrize("text", ["]", '{"a":1}}', '{"a":[}', "{" + '"' + "k" * 5000 + '":"'])
def test_other_text_has_no_keys(text: str) -> None:
    path = JsonPath()
    path.feed(text)
    assert path.keys is None
