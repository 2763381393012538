"""Names by context in eight languages: whole where their surroundings say so, and nothing where they don't."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.spec.gateway.policy import NAME_LANGUAGES
from sovctl.gateway.detect.findings.overlaps import resolve
from sovctl.gateway.detect.names.clues import PATRONYMIC_PARTS, clues_in
from sovctl.gateway.detect.names.context import find_names
from sovctl.gateway.detect.names.cues import CUES, FIELDS, JOINTS
from sovctl.gateway.detect.names.given_names import GIVEN_NAMES
from sovctl.gateway.detect.names.non_names import NON_NAMES
from sovctl.gateway.detect.structured_finder import StructuredFinder
from sovctl.gateway.detect.text.view import NormalizedText
from sovctl.gateway.detect.text.words import words_of
from sovctl.gateway.settings.detection.name_languages import CONTEXT_LANGUAGES

_FOLDER = Path(__file__).parent.parent / "data"
_MARKED = re.compile("⟦(.*?)⟧", re.DOTALL)
STRUCTURED = StructuredFinder(phone_regions=["DE"])


def lines(name: str) -> list[tuple[str, str]]:
    """Language and text of every line of a data file."""
    rows = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    pairs = [row.partition(": ")[::2] for row in rows if row and not row.startswith("#")]
    return [(language, text.replace("\\n", "\n")) for language, text in pairs]


def names_in(text: str) -> list[str]:
    identifiers = list(STRUCTURED.find(NormalizedText(text), []))
    return [text[f.start : f.end] for f in resolve(find_names(words_of(text), identifiers))]


@pytest.mark.parametrize(("language", "marked"), lines("names_in_context.txt"))
def test_names_are_found_whole_and_nothing_else(language: str, marked: str) -> None:
    text = _MARKED.sub(r"\1", marked)
    assert names_in(text) == _MARKED.findall(marked)


@pytest.mark.parametrize(("language", "text"), lines("no_names.txt"))
def test_text_without_names_is_left_alone(language: str, text: str) -> None:
    assert names_in(text) == []


@given(st.text(max_size=200))
def test_spans_are_within_the_text(text: str) -> None:
    text_words = words_of(text)
    found = list(find_names(text_words))
    assert found == list(find_names(text_words))
    for finding in found:
        assert 0 <= finding.start < finding.end <= len(text)
        assert text[finding.start : finding.end].strip() == text[finding.start : finding.end]


_PIECES = [
    "Mr. ",
    "Dear ",
    "name: ",
    "г-н ",
    "السيد ",
    "Anna",
    "Иван",
    "محمد",
    " ",
    "\n",
    "’",
    "«",
    "😀",
    "é",
    "м",
    "Kowalska",
    ";",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=20).map("".join))
def test_a_cue_is_found_wherever_it_stands(text: str) -> None:
    assert "Nordmann" in names_in(f"{text} . Mr. Nordmann")


@given(st.lists(st.sampled_from(sorted(CUES.keys() | JOINTS | PATRONYMIC_PARTS)), max_size=6))
def test_every_clue_is_found_also_where_several_share_words(phrases: list[bytes]) -> None:
    folded = b" %b " % b" ".join([phrase.strip() for phrase in phrases])
    there = [phrase for phrase in CUES.keys() | JOINTS | PATRONYMIC_PARTS if phrase in folded]
    expected = [(end, phrase) for phrase in there for end in range(len(folded) + 1) if folded[:end].endswith(phrase)]
    assert sorted(clues_in(folded)) == sorted(expected)


@given(st.text(max_size=120))
def test_a_reading_leads_back_to_the_text(text: str) -> None:
    text_words = words_of(text)
    for word in text_words.distinct:
        places = list(text_words.places(word))
        assert places
        for index in text_words.characters(places):
            shown = text[index : index + len(word.decode("utf-8", "surrogatepass"))]
            assert shown.encode("utf-8", "surrogatepass").lower()[:1] == word[:1] or not shown.isascii()


def test_no_given_name_is_a_word_that_is_nobody() -> None:
    assert not GIVEN_NAMES & NON_NAMES


def test_every_covered_language_has_its_own_cues_and_cases() -> None:
    assert {cue.language for cues in CUES.values() for cue in cues} - {""} == CONTEXT_LANGUAGES
    assert {language for language, _ in lines("names_in_context.txt")} == CONTEXT_LANGUAGES
    assert {language for language, _ in lines("no_names.txt")} == CONTEXT_LANGUAGES
    assert set(NAME_LANGUAGES) == CONTEXT_LANGUAGES


def test_tables_are_not_empty() -> None:
    assert len(CUES) > 5_000
    assert {"name", "фио", "imię i nazwisko", "الاسم"} <= FIELDS


@pytest.mark.parametrize(
    "unit", ["Mr ", "name: ", "Anna ", "ович ", "بن ", "Dear\n", "a|", "Иван Иванович ", "= ", "Anna-", "O'"]
)
def test_the_work_grows_with_the_text(unit: str) -> None:
    """Counted, not timed: every cue is looked at once, and a look reads a bounded piece of text."""
    small, large = (len(list(find_names(words_of(unit * n)))) for n in (50, 200))
    assert large <= 5 * max(small, 1)
