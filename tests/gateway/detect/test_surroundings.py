"""What stands around the places of a text is the same, in whatever order it is asked for."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.detect.context.surroundings import TextContext
from sovctl.gateway.detect.context.topics import FARTHEST_AFTER, FARTHEST_BEFORE, HAS_LETTER, Topics

_TOPICS = Topics(["@phone", "@tax"])
_PIECES = st.sampled_from(["0" * 30, "12 34, ", "a", "?", "ж", "№", " - ", "\n"])


@given(st.lists(_PIECES, max_size=12).map("".join), st.lists(st.tuples(st.integers(0, 200), st.integers(0, 20))))
def test_position_without_words_near_it_is_recognized(text: str, places: list[tuple[int, int]]) -> None:
    context = TextContext(_TOPICS, text)
    for start, length in places:
        near = text[max(0, start - FARTHEST_BEFORE) : start + length + FARTHEST_AFTER]
        assert context.has_no_word_near(start, start + length) == (HAS_LETTER.search(near) is None)


def test_letters_of_all_scripts_and_question_marks_say_something() -> None:
    one = re.compile(r"[^\W\d_]|[?\uff1f\u061f]")
    characters = [*map(chr, range(0x110000))]
    assert [c for c in characters if (HAS_LETTER.search(f"1{c}2") is None) != (one.match(c) is None)] == []
