"""Parts of a message are read as one text, wherever they are cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.inspection.inspector import Inspector
from sovctl.gateway.inspection.joined_texts import JoinedTexts
from sovctl.gateway.settings import DetectSettings
from sovctl.gateway.surfaces import SURFACES

FINDER = CachedFinder(make_detector(DetectSettings(phone_regions=["DE"])))
VALUES = ("anna@example.com", "DE89370400440532013000", "+49 30 901820")
LONG = "The branch is open from nine to five, and on Saturdays until noon. " * 10


@examples(200)
@given(st.sampled_from(VALUES), st.sets(st.integers(0, 40), max_size=12), st.booleans())
def test_no_cut_hides_an_identifier(value: str, cuts: set[int], is_long: bool) -> None:
    text = f"{LONG if is_long else ''}Please write to {value} about it.{LONG if is_long else ''}"
    start = text.index(value) - 8
    places = sorted({0, len(text), *(start + cut for cut in cuts if start + cut < len(text))})
    parts = [text[first:last] for first, last in itertools.pairwise(places)]
    content = [{"type": "text", "text": part} for part in parts]
    inspector = Inspector(FINDER, SURFACES["/v1/chat/completions"], max_depth=9)
    inspector.inspect({"messages": [{"role": "user", "content": content}]})
    hidden = set()
    position = 0
    for part in parts:
        leaf = next(leaf for leaf in inspector.leaves.texts if leaf.text == part)
        for found in inspector.findings(leaf):
            hidden.update(range(position + found.start, position + found.end))
        position += len(part)
    first = text.index(value)
    left = [character for place, character in enumerate(value, first) if place not in hidden]
    assert "".join(left).strip() == ""


@pytest.mark.parametrize("separator", ["", " "])
def test_a_span_is_that_of_its_text(separator: str) -> None:
    texts = ["a" * 500, "bc", "d" * 400]
    joined = JoinedTexts.of_parts(texts, separator)
    place = joined.text.index("bc")
    finding = FINDER.find("anna@example.com")[0]._replace(start=place - 3, end=place + 4)
    parts = dict(joined.parts_of([finding]))
    assert {text: [(each.start, each.end) for each in found] for text, found in parts.items()} == {
        texts[0]: [(500 - (3 - len(separator)), 500)],
        texts[1]: [(0, 2)],
        texts[2]: [(0, 2 - len(separator))],
    }
