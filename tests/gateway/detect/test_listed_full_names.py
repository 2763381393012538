"""A list that has full names only, and the names of its people in one word with an initial."""

from __future__ import annotations

from pathlib import Path

import pytest
from listed_givens import finder_of, surfaces

from sovctl.gateway.detect.edm.index.people import person_of
from sovctl.gateway.detect.edm.matching.finder import EdmFinder

NAMES = [
    "Crisanto Trueba Arredondo",
    "Маловский Полуэкт Дмитриевич",
    "Базилевич Лука Лукич",
    "Brechtje van den Heuvel",
    "Agnieszka Brzozowska",
    "Hugh Lytton-Abernethy",
    "Oğuzhan Pehlivanlı",
    "Rodrigue Fontenoy",
    "ليلى قباني",
    "Valerii Pidmohylnyi",
    "Ефим Щукин",
    "Albin Sjöstrand",
    "Зоряна Підгайна",
    "Maria Grazia Caracciolo",
    "Víctor Manuel Quintanilla Olmedo",
    "Pierre-Yves Quéméneur",
]


@pytest.fixture(scope="module", name="listed")
def listed_fixture(tmp_path_factory: pytest.TempPathFactory) -> EdmFinder:
    return finder_of(tmp_path_factory.mktemp("full_names"), [{"full_name": name} for name in NAMES])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ayer llamó Crisanto Trueba por teléfono.", "Crisanto Trueba"),
        ("Ayer llamó Crisanto Arredondo por teléfono.", "Crisanto Arredondo"),
        ("Ayer llamó Trueba Arredondo, Crisanto por teléfono.", "Trueba Arredondo, Crisanto"),
        ("Cena con los Arredondo en casa.", "Arredondo"),
        ("Звонил Полуэкт Маловский вчера.", "Полуэкт Маловский"),
        ("Звонил Полуэкт Дмитриевич вчера.", "Полуэкт Дмитриевич"),
        ("Письмо для Луки Базилевича пришло.", "Луки Базилевича"),
        ("Родина Базилевичів переїхала.", "Базилевичів"),
        ("Розмова з Валерієм Підмогильним була.", "Валерієм Підмогильним"),
        ("Видали пану Підмогильному ключі.", "Підмогильному"),
        ("Then Efim Scukin wrote.", "Efim Scukin"),
        ("Sedan skrev Albin Sjoestrand.", "Albin Sjoestrand"),
        ("Akşam Pehlivanlılar yemekteydi.", "Pehlivanlılar"),
        ("Chez les Fontenoy, la soirée dura.", "Fontenoy"),
        ("Kata Oğuzhan Bey geldi.", "Oğuzhan"),
        ("Вчора Підгайна Зоряна Вікторівна дзвонила.", "Підгайна Зоряна Вікторівна"),
        ("Листа від Підгайної Зоряни Вікторівни немає.", "Підгайної Зоряни Вікторівни"),
        ("Then Zoriana Pidhaina wrote.", "Zoriana Pidhaina"),
        ("Poi Mariagrazia Caracciolo ha scritto.", "Mariagrazia Caracciolo"),
        ("Firma Quintanilla Olmedo, Víctor Manuel en Burgos.", "Quintanilla Olmedo, Víctor Manuel"),
        ("dile a víctor manuel olmedo que llame", "víctor manuel olmedo"),
        ("وافقت ليلى بنت أسامة قباني على الطلب", "ليلى بنت أسامة قباني"),
    ],
)
def test_any_usual_order_and_part_of_a_full_name_is_found(listed: EdmFinder, text: str, expected: str) -> None:
    assert surfaces(listed, text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "login={} status=ok",
        "assigned to @{} yesterday",
        "/home/{}/notes.txt",
        "see {}_cv.pdf",
        '{{"user": "{}"}}',
        "The account {} was locked.",
        "Użytkownik {} nie istnieje.",
        "{}85 wrote",
        "{} logged in",
    ],
)
@pytest.mark.parametrize(
    "user",
    [
        "abrzozowska",
        "brzozowskaa",
        "bvandenheuvel",
        "ctruebaarredondo",
        "hlyttonabernethy",
        "pyquemeneur",
        "mgcaracciolo",
    ],
)
def test_an_initial_and_a_surname_in_one_word_are_a_user(listed: EdmFinder, text: str, user: str) -> None:
    assert any(user in each for each in surfaces(listed, text.format(user)))


@pytest.mark.parametrize(
    "text",
    [
        "it was abrzozowska and nothing else",  # nothing says that it is a user name
        "login=xbrzozowska",  # nobody's initial
        "login=pxquemeneur",  # one of two is nobody's
        "The Trueba case: the users, los usuarios",
    ],
)
def test_a_word_is_no_user_name_without_its_place_and_initial(listed: EdmFinder, text: str) -> None:
    assert not [each for each in surfaces(listed, text) if each.islower()]


@pytest.mark.parametrize(
    ("full", "givens", "surnames"),
    [
        ("Kowalska, Anna Maria", ("anna", "maria", "annamaria"), ("kowalska",)),
        ("Anna Maria Kowalska", ("anna", "maria", "annamaria"), ("kowalska",)),
        ("Базилевич Лука Лукич", ("лука", "лукич"), ("базилевич",)),
        ("Юлия Германовна Мицкевич", ("юлия", "германовна"), ("мицкевич",)),
        ("Crisanto Trueba", ("crisanto",), ("crisanto", "trueba", "crisantotrueba")),
    ],
)
def test_a_full_name_is_split_by_what_is_known_of_its_words(
    full: str, givens: tuple[str, ...], surnames: tuple[str, ...]
) -> None:
    person = person_of({"full_name": full})
    assert person is not None
    assert (person.givens, person.surnames) == (givens, surnames)


def test_columns_say_what_a_full_name_does_not(tmp_path: Path) -> None:
    rows = [{"full_name": "Trueba Crisanto", "surname": "Trueba"}]
    listed = finder_of(tmp_path, rows)
    assert surfaces(listed, "Ayer llamó Crisanto Trueba por teléfono.") == ["Crisanto Trueba"]
    assert surfaces(listed, "Ayer llamó Crisanto por teléfono.") == []
