"""A text as its words: outside of findings they are what they would be with blanks there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.detect.language.language import languages, languages_of
from sovctl.gateway.detect.text.words import words_of
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.settings import DetectSettings

DETECTOR = make_detector(DetectSettings())
_TEXTS = st.text(st.sampled_from("abM .,-7@'\n"), max_size=40)
_PLACES = st.lists(st.tuples(st.integers(0, 39), st.integers(1, 9)), max_size=5)


def _findings(text: str, places: list[tuple[int, int]]) -> list[Finding]:
    ends = [(start, min(len(text), start + length)) for start, length in places if start < len(text)]
    return [Finding(start, end, EntityType.EMAIL, 1.0, "", "EMAIL") for start, end in ends]


@given(_TEXTS, _PLACES)
def test_words_outside_of_findings_are_those_of_the_text_with_blanks(text: str, places: list[tuple[int, int]]) -> None:
    text_words, found = words_of(text), _findings(text, places)
    blank = list(text)
    for each in found:
        blank[each.start : each.end] = " " * (each.end - each.start)
    assert text_words.outside(found) == words_of("".join(blank)).outside(())
    assert text_words.outside(()) == text_words.folded.split()


def test_what_was_read_tells_the_languages_beside_findings() -> None:
    text = "Please write to hans.mueller@example.com about the account. Bitte rufen Sie mich wegen der Karte zurück."
    ascii_text = text.replace("ü", "ue")
    assert DETECTOR.scan(text)[1] is None
    found, text_words = DETECTOR.scan(ascii_text)
    assert found
    assert text_words is not None
    without = ascii_text[: found[0].start] + " " + ascii_text[found[0].end :]
    assert languages_of(text_words.outside(found)) == languages(without)
