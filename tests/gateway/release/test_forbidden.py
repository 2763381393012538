"""Forbidden phrases: found however they are written, told by their line, in one pass."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.release.forbidden import MAX_WORDS, Phrases, load_phrases
from sovctl.gateway.release.words import fold, stems, words
from sovctl.gateway.settings.answers.release import ForbiddenSettings
from sovctl.support.errors import InputError

LISTS = {
    "products": (["ru", "pl"], "# ours\nипотека\nкредитная карта\n\nkredyt hipoteczny\n"),
    "topics": ([], "insider trading\nÜberweisung ins Ausland\nweapon\n内幕交易\nالمقامرة\n"),
}


def settings_of(path: Path, name: str) -> ForbiddenSettings:
    languages, text = LISTS[name]
    path.write_text(text)
    return ForbiddenSettings(
        name=name,
        file=path,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        languages=languages,  # type: ignore[arg-type]
    )


@pytest.fixture(name="phrases", scope="module")
def phrases_fixture(tmp_path_factory: pytest.TempPathFactory) -> Phrases:
    folder = tmp_path_factory.mktemp("phrases")
    return load_phrases([settings_of(folder / name, name) for name in LISTS])


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("We talk about ипотеку today", ["products:2"]),
        ("Ипотекой мы не занимаемся", ["products:2"]),
        ("КРЕДИТНОЙ  картой", ["products:3"]),
        ("o kredycie hipotecznym", []),  # another stem: a list names such forms itself
        ("kredyty hipoteczne", ["products:5"]),
        ("Insider-Trading!", ["topics:1"]),
        ("in\u200bsider\u00a0trading", ["topics:1"]),
        ("ｉｎｓｉｄｅｒ ｔｒａｄｉｎｇ", ["topics:1"]),
        ("insider's trading", ["topics:1"]),
        ("uberweisung INS ausland", ["topics:2"]),
        ("weapons", []),  # no endings are left out in this list
        ("他们从事内幕交易。", ["topics:4"]),
        ("هذا عن المقامرة فقط", ["topics:5"]),
        ("insider and trading", []),
        ("a weapon and insider trading", ["topics:1", "topics:3"]),
        ("", []),
    ],
)
def test_a_phrase_is_found_however_it_is_written(phrases: Phrases, text: str, hits: list[str]) -> None:
    assert phrases.find(text) == hits


def test_a_phrase_over_two_sentences_is_found_with_what_came_before(phrases: Phrases) -> None:
    before = "word " * 40 + "It is insider"
    assert phrases.find(phrases.tail(before) + "trading.") == ["topics:1"]
    assert len(phrases.tail(before).split()) < MAX_WORDS


@examples(200)
@given(st.text(max_size=80), st.text(max_size=80))
def test_a_phrase_is_found_in_any_text(phrases: Phrases, before: str, after: str) -> None:
    assert "topics:3" in phrases.find(f"{before} weapon {after}")


@given(st.text(max_size=60))
def test_words_are_folded_for_good(text: str) -> None:
    assert words(fold(text)) == words(text)
    assert stems(words(text), []) == words(text)
    assert all(words(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing\n", "at least one phrase"),
        ("one\n" + "word " * (MAX_WORDS + 1), "line 2: expected 1 to 16 words, got 17"),
        ("...\n", "line 1: expected 1 to 16 words, got 0"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "list"
    path.write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    with pytest.raises(InputError, match=message):
        load_phrases([ForbiddenSettings(name="a", file=path, sha256=digest)])


def test_a_list_that_nobody_reviewed_is_refused(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "list", "topics")
    (tmp_path / "list").write_text("something else\n")
    with pytest.raises(InputError, match="expected the list with SHA-256"):
        load_phrases([settings])
    (tmp_path / "list").unlink()
    with pytest.raises(InputError, match="expected a readable list"):
        load_phrases([settings])


def test_a_long_text_of_beginnings_is_read_in_one_pass(phrases: Phrases) -> None:
    assert phrases.find("insider " * 100_000) == []
