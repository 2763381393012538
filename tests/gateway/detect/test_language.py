"""Language identification: twenty languages told apart, what can't be told says so, no passage is outvoted.

The letters in `data/letters.json` were written for this file.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.detect.language import language as telling
from sovctl.gateway.detect.language.language import NONE, UNKNOWN, languages
from sovctl.gateway.detect.language.stop_words import BALLOTS, GROUP_OF, GROUPS, HEAD_START, LANGUAGES

LETTERS: dict[str, str] = json.loads(
    (Path(__file__).parent.parent / "data" / "letters.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("language", LETTERS)
def test_a_letter_is_in_its_language(language: str) -> None:
    assert languages(LETTERS[language]) == {language}


@pytest.mark.parametrize("language", LETTERS)
def test_each_sentence_of_a_letter_is_in_its_language(language: str) -> None:
    for sentence in LETTERS[language].split(". "):
        assert languages(sentence) == {language}


@pytest.mark.parametrize("first", LETTERS)
@pytest.mark.parametrize("second", ["en", "de", "ru", "ar"])
def test_a_letter_in_two_languages_is_in_both(first: str, second: str) -> None:
    assert languages(LETTERS[first] + "\n\n" + LETTERS[second]) == {first, second}


@pytest.mark.parametrize("language", sorted(LETTERS.keys() - {"en"}))
def test_one_foreign_sentence_in_a_long_text_is_not_outvoted(language: str) -> None:
    sentence = LETTERS[language].split(". ")[0]
    assert languages(f"{LETTERS['en']} {LETTERS['en']} {sentence} {LETTERS['en']}") == {"en", language}


def test_a_passage_that_no_table_knows_is_said_to_be_unknown() -> None:
    passage = " ".join(f"zorp{letter}l kwint{letter} blarg{letter}n" for letter in "abcdefgh")
    assert languages(f"{LETTERS['en']} {passage} {LETTERS['en']}") == {"en", UNKNOWN}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please confirm the transfer", {"en"}),
        ("yes", {"en"}),
        ("Bitte bestätigen Sie die Überweisung", {"de"}),
        ("BITTE BESTÄTIGEN SIE DIE ÜBERWEISUNG FÜR DAS KONTO", {"de"}),
        ("Por favor confirme la transferencia de la cuenta", {"es"}),
        ("Merci de confirmer le virement pour la cliente", {"fr"}),
        ("Prosze potwierdzic przelew na konto klienta", {"pl"}),
        ("Mohon konfirmasi transfer ke rekening nasabah", {"id"}),
        ("Lütfen havaleyi onaylayın", {"tr"}),
        ("Пожалуйста", {"ru"}),
        ("Будь ласка, підтвердіть переказ", {"uk"}),
        ("Аударымды растауыңызды өтінемін", {"kk"}),
        ("Моля, кажете дали преводът по сметката ще бъде изпратен днес и кога", {"bg"}),
        ("يرجى التأكيد", {"ar"}),
        ("لطفا تایید کنید", {"fa"}),
        ("おねがいします", {"ja"}),
        ("4111 1111", {NONE}),
        ("", {NONE}),
        ("🙂 → €", {NONE}),
        ("Ola Nordmann", {UNKNOWN}),
        ("Please call اسم", {"en", "ar"}),
        ("Клиент просит VPN и CRM для отделения", {"ru"}),
        ("ⴰⵣⵓⵍ please read the text", {"en", UNKNOWN}),
        ("Ｐｌｅａｓｅ", {UNKNOWN}),
        ("\ud800 please read the text", {"en"}),
        ("🄰🄽🄽🄰 please read the text", {"en", UNKNOWN}),
        ("« 12 » № 4", {NONE}),
        ("def f(x): return x if x is not None else None", {"en"}),
    ],
)
def test_short_texts_are_told_or_said_to_be_unknown(text: str, expected: set[str]) -> None:
    assert languages(text) == expected


@given(st.text(max_size=300))
def test_any_text_has_an_answer(text: str) -> None:
    found = languages(text)
    assert found
    assert found == languages(text)
    if NONE in found:
        assert found == {NONE}


@given(st.text(alphabet=st.characters(categories=["L"], exclude_characters="ªºµ"), min_size=1, max_size=40))
def test_text_with_letters_has_a_language(text: str) -> None:
    assert languages(text) != {NONE}


_LATIN = sorted(chr(group) for group in {*GROUP_OF.values()} if GROUPS[group] <= {*LANGUAGES["latin"]})
_OWN = [vote for vote in _LATIN if len(GROUPS[ord(vote)]) == 1]


@given(
    st.sampled_from(_OWN),
    st.integers(1, 60),
    st.lists(st.tuples(st.sampled_from(["\0", *_LATIN]), st.integers(1, 20)), max_size=6),
)
def test_fast_language_path_agrees_with_counting(own: str, number: int, others: list[tuple[str, int]]) -> None:
    votes = own * number + "".join(vote * times for vote, times in others)
    plain = telling._of_most(votes, 0)
    if plain is not None:
        counts = telling._counted(votes.replace("\0", ""))
        ballots = HEAD_START + sum(BALLOTS[group] * times for group, times in counts.items())
        assert telling._guess("latin", counts, ballots, 0, len(votes)) == {plain}


def test_every_language_has_words_of_its_own() -> None:
    alone = {language for group in GROUPS if len(group) == 1 for language in group}
    assert alone == {language for family in LANGUAGES.values() for language in family}
