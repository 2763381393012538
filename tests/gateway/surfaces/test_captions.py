"""Transcripts that are no JSON: what was said is told from what was not, and nothing changes by being read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.surfaces.answers.captions import Captions

SRT = (
    "1\r\n00:00:00,000 --> 00:00:01,500\r\nGood morning,\r\n4111\r\n\r\n2\r\n00:00:01,500 --> 00:00:02,000\r\nAnna.\r\n"
)
VTT = "WEBVTT\n\n00:00.000 --> 00:01.000\nGood morning.\n\n01:00:01.000 --> 01:00:02.000\nGoodbye.\n"


def spoken(text: str) -> list[str]:
    captions = Captions(text)
    return [captions["lines"][place] for place in captions.spoken]


def test_only_numbers_and_times_of_captions_are_no_words() -> None:
    assert spoken(SRT) == ["Good morning,", "4111", "Anna."]
    assert spoken(VTT) == ["Good morning.", "Goodbye."]
    assert spoken("Good morning.\n\nGoodbye.") == ["Good morning.", "Goodbye."]
    assert spoken("WEBVTT says Anna\n1\nNOTE Anna\n00:00.000 --> Anna") == [
        "WEBVTT says Anna",
        "1",
        "NOTE Anna",
        "00:00.000 --> Anna",
    ]


def test_a_line_that_was_emptied_ends_no_caption() -> None:
    captions = Captions(SRT)
    captions["lines"][captions.spoken[1]] = ""
    assert captions.written() == SRT.replace("4111\r\n", "")


@given(st.lists(st.sampled_from(["1", "00:00.000 --> 00:01.000", "Anna", "", "WEBVTT", "\n", "\r\n", "\r", " "])))
def test_what_is_read_is_written_as_it_was_and_no_word_is_form(pieces: list[str]) -> None:
    text = "".join(pieces)
    captions = Captions(text)
    assert captions.written() == text
    unread = "".join(line for place, line in enumerate(captions["lines"]) if place not in captions.spoken)
    assert "Anna" not in unread
