"""Where listed names are looked for: what was read before, and how much of it is kept, changes no finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from listed_givens import KEY, finder_of, found_in, surfaces

from examples import examples
from sovctl.gateway.detect.edm.index.index import Index
from sovctl.gateway.detect.edm.matching import vocabulary
from sovctl.gateway.detect.edm.matching.finder import EdmFinder

PEOPLE = [("Kim", "Harvey"), ("Will", "Brightwater"), ("Jörg", "Zwickelhuber"), ("Анна", "Ковальчинская")]
PEOPLE += [("غيداء", "القحطاني"), ("Mark", "Loder"), ("Anna", "Kowalska")]
NAMES = [name for person in PEOPLE for name in person]
WORDS = [
    *NAMES,
    *map(str.lower, NAMES),
    *map(str.upper, NAMES),
    "Kovalskoy",
    "kovalsk",
    "herwei",
    "loader",
    "The",
    "the",
]
WORDS += ["will", "mark", "of", "und", "über", "Über", "von", "k.", "J.", "o'", "Har-\n", "vey", "¿", "12.5", "’s"]
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from([" ", "  ", ". ", ", ", "\n", "-", "", "_"]))).map(
    lambda pieces: "".join(word + sign for word, sign in pieces)
)


@pytest.fixture(scope="module", name="index")
def index_fixture(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("marks")
    finder_of(folder, [{"given_name": given, "surname": surname} for given, surname in PEOPLE])
    return Index.open(Path(folder / "listed.edm"), KEY)


@examples(150)
@given(before=TEXTS, text=TEXTS)
def test_what_was_read_before_changes_no_finding(index: Index, before: str, text: str) -> None:
    used = EdmFinder(index)
    found_in(used, before)
    once = found_in(used, text)
    assert once == found_in(EdmFinder(index), text) == found_in(used, text)


@examples(100)
@given(text=TEXTS)
def test_a_full_memory_of_words_changes_no_finding(index: Index, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        expected = found_in(EdmFinder(index), text)
        patch.setattr(vocabulary, "_MOST_KNOWN", 1)
        assert found_in(EdmFinder(index), text) == expected


@pytest.mark.parametrize(
    "text", ["anna kowalska", "kowalska anna", "Anna kowalska", "anna Kowalska", "anna von kowalska"]
)
def test_a_given_name_makes_a_name_of_a_word_without_a_capital(index: Index, text: str) -> None:
    assert surfaces(EdmFinder(index), f"the file of {text} is closed") == [text]
