"""Listed people and companies are found in every form that people write, and words that are also names are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from listed_givens import ListedPerson, finder_of, found_in, listed_people, surfaces

from sovctl.gateway.detect.edm.forms.keys import listed_keys, text_keys
from sovctl.gateway.detect.edm.matching.finder import EdmFinder
from sovctl.gateway.domain.entities import EntityType

PEOPLE = listed_people()
_AROUND = re.compile(r"\(([^)]*)\)")  # a title, a suffix: not part of the name


@pytest.fixture(scope="module", name="listed")
def listed_fixture(tmp_path_factory: pytest.TempPathFactory) -> EdmFinder:
    rows = [{"given_name": person.given, "surname": person.surname} for person in PEOPLE]
    return finder_of(tmp_path_factory.mktemp("listed"), rows)


@pytest.mark.parametrize("person", PEOPLE, ids=lambda person: str(PEOPLE.index(person)))
def test_every_form_of_a_listed_name_is_found_whole(listed: EdmFinder, person: ListedPerson) -> None:
    for form in (f"{person.given} {person.surname}", *person.full, *person.partial):
        written = _AROUND.sub(r"\1", form)
        text = f"We spoke about {written} on the phone, and then about the weather."
        assert _AROUND.sub("", form) in surfaces(listed, text), form


def test_all_forms_of_one_name_are_one_value(listed: EdmFinder) -> None:
    text = "Agnieszka Brzozowska pisze, Agnieszki Brzozowskiej nie ma, Brzozowską Agnieszką."
    assert len({finding.value for finding in found_in(listed, text)}) == 1


def test_a_name_that_is_not_listed_is_not_found(listed: EdmFinder) -> None:
    assert not surfaces(listed, "Solveig Haraldsdottir and Kwabena Mensah called Deutsche Post at noon in Hamburg.")


COMMON = [
    {"given_name": "Grace", "surname": "Baker", "birth_date": "1985-02-03", "account": "4471-220-981"},
    {"given_name": "Will", "surname": "May", "email": "w.may@example.com"},
    {"given_name": "Слава", "surname": "Волк", "birth_date": "1979-11-30"},
]


@pytest.fixture(scope="module", name="common")
def common_fixture(tmp_path_factory: pytest.TempPathFactory) -> EdmFinder:
    return finder_of(tmp_path_factory.mktemp("common"), COMMON)


@pytest.mark.parametrize(
    "text",
    [
        "The baker will open in May, by the grace of the mayor.",
        "Baker and grace notes: may we, will you?",
        "A Baker is a person who bakes; May is a month; Will is a word.",
        "Слава труду! Волк ушёл в лес.",
        "die Grace Periode endet im Mai",
        "It took 2052 ms. Baker street is long.",
    ],
)
def test_common_words_that_are_also_names_are_not_found_alone(common: EdmFinder, text: str) -> None:
    assert surfaces(common, text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please call Grace Baker back.", "Grace Baker"),
        ("Please call Ms Baker back.", "Baker"),
        ("Baker, born 03.02.1985, asks for a card.", "Baker"),
        ("The account 4471 220 981 is held by Baker since June.", "Baker"),
        ("Tell May (w.may@example.com) that it is done.", "May"),
        ("Write to x@example.org @ noon, @all, tell May: w.may@example.com @", "May"),
        ("Передайте Волку Славе, что карта готова.", "Волку Славе"),
        ("Клиент Волк, 30.11.1979, ждёт ответа.", "Волк"),
    ],
)
def test_a_common_name_is_believed_beside_something_of_the_same_person(
    common: EdmFinder, text: str, expected: str
) -> None:
    assert expected in surfaces(common, text)


def test_birth_date_of_another_person_supports_no_name(common: EdmFinder) -> None:
    assert surfaces(common, "The Baker on the corner, open since 30.11.1979, sells bread.") == []


COMPANIES = [
    {"company": "Nordwind Logistik GmbH", "kind": "company"},
    {"company": "ООО «Ромашка-Юг»", "kind": "company"},
    {"company": "PT Sinar Bahagiatama Tbk", "kind": "company"},
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Der Vertrag mit Nordwind Logistik GmbH endet.", "Nordwind Logistik"),
        ("Der Vertrag mit Nordwind Logistik endet.", "Nordwind Logistik"),
        ("договор с ООО «Ромашка-Юг» подписан", "Ромашка-Юг"),
        ("договор с Ромашкой-Юг подписан", "Ромашкой-Юг"),
        ("surat dari Sinar Bahagiatama kemarin", "Sinar Bahagiatama"),
    ],
)
def test_companies_are_found_with_and_without_their_legal_form(tmp_path: Path, text: str, expected: str) -> None:
    found = found_in(finder_of(tmp_path, COMPANIES), text)
    assert [(finding.entity_type, text[finding.start : finding.end]) for finding in found] == [
        (EntityType.ORG, expected)
    ]


def test_listed_numbers_are_found_however_they_are_grouped(tmp_path: Path) -> None:
    finder = finder_of(tmp_path, [{"id": "KD-771204", "surname": "Quimbleby", "account": "4471-220-981"}])
    text = "Account 4471 220 981 of customer KD 771204, not 4471 220 982; KD-771204 4471-220-981 2026-11-21"
    assert surfaces(finder, text) == ["4471 220 981", "KD 771204", "KD-771204", "4471-220-981"]


NAMES = st.builds(
    lambda syllables, end: "".join(syllables).capitalize() + end,
    st.lists(st.sampled_from("bra ke ni tso vla mir gud ro sha ja lew pe zin dor ham".split()), min_size=3, max_size=4),  # noqa: SIM905
    st.sampled_from(["", "ska", "ov", "wicz", "ez", "sen"]),
)


@given(given_name=NAMES, surname=NAMES, is_reversed=st.booleans(), is_upper=st.booleans())
def test_any_listed_pair_of_names_is_found(
    tmp_path_factory: pytest.TempPathFactory, given_name: str, surname: str, is_reversed: bool, is_upper: bool
) -> None:
    finder = finder_of(tmp_path_factory.mktemp("any"), [{"given_name": given_name, "surname": surname}])
    name = f"{surname} {given_name}" if is_reversed else f"{given_name} {surname}"
    name = name.upper() if is_upper else name
    assert name in surfaces(finder, f"we asked {name} about it")


LETTERS = st.sampled_from(
    [*map(chr, [*range(0x61, 0x7B), *range(0xDF, 0x180), *range(0x430, 0x460), *range(0x621, 0x64B)])]
)


@given(word=st.text(LETTERS, min_size=2, max_size=40), is_arabic_name=st.booleans())
def test_a_word_meets_itself_in_any_script(word: str, is_arabic_name: bool) -> None:
    keys = listed_keys(word, is_arabic_name=is_arabic_name, is_given=True)
    assert not keys or set(keys) & set(text_keys(word.casefold()))


@given(text=st.text(max_size=200))
def test_any_text_can_be_read(common: EdmFinder, text: str) -> None:
    for finding in found_in(common, text):
        assert 0 <= finding.start < finding.end <= len(text)


RARE = [
    {"given_name": "Tomasz", "surname": "Wołga"},
    {"given_name": "Inés", "surname": "Vaneta"},
    {"given_name": "Ina", "surname": "Ecke"},
    {"given_name": "Eileen", "surname": "May"},
    {"given_name": "Rui", "surname": "Dado"},
    {"given_name": "Ewa", "surname": "Rada"},
    {"given_name": "Rui", "surname": "Câmara"},
    {"given_name": "Can", "surname": "Doğu"},
]


@pytest.fixture(scope="module", name="rare")
def rare_fixture(tmp_path_factory: pytest.TempPathFactory) -> EdmFinder:
    return finder_of(tmp_path_factory.mktemp("rare"), RARE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Another case than the nominative: not where every word has a capital, ...
        ("Wołgę już przepłynął, bo jest ciepło.", []),
        ("Rozmawiałem wczoraj z Wołgą, bo jest problem.", ["Wołgą"]),
        ("Wołga pyta, czy karta jest gotowa.", ["Wołga"]),
        # ... nor in a language without cases, ...
        ("La respuesta de Vanety que está en el banco es buena.", []),
        ("Odpowiedź dla Vanety jest już gotowa.", ["Vanety"]),
        ("La respuesta de Vaneta que está en el banco es buena.", ["Vaneta"]),
        # ... except when its own letters say that it is of another one.
        ("We spoke about Wołgę on the phone, and then about the weather.", ["Wołgę"]),
        # The s of a plural.
        ("Já não há mais nada, os Dados que estão aqui são do banco.", []),
        # Words that have a capital as a part of something else's name, in any case.
        ("Prezes idzie do Rady Miasta, a potem wraca.", []),
        ("O presidente da Câmara falou ontem.", []),
        ("Bu sabah Doğu Anadolu çok soğuk.", []),
        ("Dzwoniła Ewa Rada, a potem pani Rada.", ["Ewa Rada", "Rada"]),
    ],
)
def test_a_surname_alone_is_believed_as_it_is_listed(rare: EdmFinder, text: str, expected: list[str]) -> None:
    assert surfaces(rare, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In der Ecke steht ein Stuhl, und wir sind froh.", []),
        ("Ina Ecke fragt, und wir sind froh.", ["Ina Ecke"]),
        ("THE CONTRACT OF EILEEN MAY IS CLOSED", ["EILEEN MAY"]),
        ("WE MAY CLOSE IT ALL IN MAY", []),
    ],
)
def test_sentence_capitals_do_not_make_a_name(rare: EdmFinder, text: str, expected: list[str]) -> None:
    assert surfaces(rare, text) == expected


def test_a_short_surname_with_marks_begins_a_sentence(tmp_path: Path) -> None:
    finder = finder_of(tmp_path, [{"given_name": "Jens", "surname": "Rätz"}, {"given_name": "Ida", "surname": "Kolb"}])
    assert surfaces(finder, "Rätz möchte wissen, ob das Limit noch reicht.") == ["Rätz"]
    assert surfaces(finder, "anwesend: Rätz, der Prüfer und zwei Kollegen") == ["Rätz"]
    assert surfaces(finder, "Kolb möchte wissen, ob das Limit noch reicht.") == []
