"""Listed names in one word, without a capital behind a title, and with parts that are no words of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from listed_givens import finder_of, surfaces

from sovctl.gateway.detect.edm.index.people import person_of
from sovctl.gateway.detect.edm.matching.finder import EdmFinder

PEOPLE = [
    ("Anna", "Kowalska"),
    ("Hans", "Müller"),
    ("Jane", "Smith"),
    ("Paul", "Rose"),
    ("Иван", "Волков"),
    ("Alwin", "van den Heuvel"),
    ("Brechtje", "van 't Hoff"),
    ("Sidonie", "d'Aubigny"),
    ("Bénédicte", "L'Espérance"),
    ("Mafalda", "dos Anjos Viegas"),
    ("Made", "Rangkuti"),
    ("Leonor", "de la Serna"),
    ("Graça", "do Nascimento"),
    ("Marijke", "de Groot"),
    ("Rana", "Shadi"),
    ("هيثم", "مرزوق"),
    ("В'ячеслав", "Самійленко"),
    ("Виктор", "Дьяконов"),
    ("Albane", "Vaucanson"),
    ("Лука", "Гриценко"),
    ("Геннадій", "Вінниченко"),
    ("Görkem", "İpekçi"),
    ("Пелагея", "Юрасова"),
    ("Ясмина", "Онищенко"),
    ("Karin", "Kr"),
    ("Delfina", "Landázuri Ochoa"),
    ("Ana Belén", "Quintanilla-Robledo"),
]
FULL = [{"full_name": f"{given} {surname}"} for given, surname in PEOPLE[-2:]]


@pytest.fixture(scope="module", name="listed")
def listed_fixture(tmp_path_factory: pytest.TempPathFactory) -> EdmFinder:
    rows = [{"given_name": given, "surname": surname} for given, surname in PEOPLE]
    return finder_of(tmp_path_factory.mktemp("glued_names"), rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The login annakowalska was locked.", "annakowalska"),
        ("Write to annakowalska85@posta.example today.", "annakowalska"),
        ("see /home/kowalskaanna/notes", "kowalskaanna"),
        ("#AlwinvandenHeuvel asked again", "AlwinvandenHeuvel"),
        ("#SidoniedAubigny asked again", "SidoniedAubigny"),
        ("#LeonordelaSerna asked again", "LeonordelaSerna"),
        ("scan_brechtje_vanthoff.jpg", "brechtje_vanthoff"),
        ("The account made.rangkuti was locked.", "made.rangkuti"),
    ],
)
def test_a_whole_name_in_one_word_is_found(listed: EdmFinder, text: str, expected: str) -> None:
    assert surfaces(listed, text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to d.landazuriochoa@posta.example today.", "d.landazuriochoa"),
        ("The login landazuriochoa_d was locked.", "landazuriochoa_d"),
        ("Write to d.landazuri.ochoa@posta.example today.", "d.landazuri.ochoa"),
        ("The login a.quintanilla-robledo was locked.", "a.quintanilla-robledo"),
        ("The login ab.quintanilla was locked.", "ab.quintanilla"),
        ("Write to a.b.quintanilla85@posta.example today.", "a.b.quintanilla"),
    ],
)
def test_an_initial_and_several_surnames_are_found_as_one(
    listed: EdmFinder, tmp_path: Path, text: str, expected: str
) -> None:
    assert surfaces(finder_of(tmp_path, FULL), text) == surfaces(listed, text) == [expected]


def test_particles_of_a_user_name_are_found(listed: EdmFinder) -> None:
    assert surfaces(listed, "Write to a.van.den.heuvel@posta.example today.") == ["a.van.den.heuvel"]
    for other in ("x_kowalska", "ax.quintanilla", "van.den.heuvel", "a.van.heuvelink"):
        assert surfaces(listed, f"The login {other} was locked.") == []


@pytest.mark.parametrize("text", ["the words annakowalska mean nothing", "a janesmithereen, and more"])
def test_it_is_none_within_prose(listed: EdmFinder, text: str) -> None:
    assert surfaces(listed, text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Laut Akte hat herr müller bezahlt.", "müller"),
        ("I saw mrs smith on Monday.", "smith"),
        ("Then mr. rose came to London.", "rose"),
        ("Вчера господин волков пришёл в Москву.", "волков"),
        ("Wczoraj pani kowalska była w Warszawie.", "kowalska"),
        ("Gisteren kwam meneer van den heuvel langs.", "van den heuvel"),
        ("Ayer vino el señor de la serna aquí.", "de la serna"),
        ("Ieri Mevrouw de Groot kwam langs.", "de Groot"),
    ],
)
def test_a_surname_without_its_capital_is_found_behind_a_title(listed: EdmFinder, text: str, expected: str) -> None:
    assert surfaces(listed, text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "The patient rose to his feet in London.",
        "They saw smith marks on the iron.",
        "Elle est la fille de Rose ici.",
    ],
)
def test_it_is_a_word_behind_any_other(listed: EdmFinder, text: str) -> None:
    assert surfaces(listed, text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We hebben mevrouw van 't Hoff ingelicht.", "van 't Hoff"),
        ("Na de operatie is van ’t Hoff, Brechtje hier.", "van ’t Hoff, Brechtje"),
        ("Selon le dossier, L'Espérance a refusé.", "L'Espérance"),
        ("le bail de bénédicte l'espérance ici", "bénédicte l'espérance"),
        ("Depois dos Anjos Viegas, Mafalda passou.", "dos Anjos Viegas, Mafalda"),
        ("Hier GÖRKEM İPEKÇİ geldi.", "GÖRKEM İPEKÇİ"),
        ("Видали Луці Гриценкові копію.", "Луці Гриценкові"),
        ("розмова з геннадієм вінниченком відбулася", "геннадієм вінниченком"),
        ("Then Iurasova Pelageia wrote.", "Iurasova Pelageia"),
        ("É preciso ligar a Graça do Nascimento hoje.", "Graça do Nascimento"),
        ("La carta para de la Serna nunca salió.", "de la Serna"),
        ("وصل تقرير رنا شادي أمس", "رنا شادي"),
        ("We met H. Marzouk at noon.", "H. Marzouk"),
        ("Біля вікна Самійленко В'ячеслав стоїть.", "Самійленко В'ячеслав"),
        ("Payment by Viktor D’yakonov bounced.", "Viktor D’yakonov"),
        ("L'appartement des Vaucanson est à louer.", "Vaucanson"),
        ("Wtedy napisała Onyszczenko do nas.", "Onyszczenko"),
    ],
)
def test_parts_cases_and_letters_of_a_name_do_not_hide_it(listed: EdmFinder, text: str, expected: str) -> None:
    assert surfaces(listed, text) == [expected]


def test_an_abbreviation_is_not_its_own_initial(listed: EdmFinder) -> None:
    assert surfaces(listed, "Omkring 400-talet f.Kr. kom de hit.") == []


@pytest.mark.parametrize(
    ("full", "givens", "surname"),
    [
        ("Brechtje van 't Hoff", ("brechtje",), "vanthoff"),
        ("Mafalda dos Anjos Viegas", ("mafalda",), "dosanjosviegas"),
        ("Стеценко Юлія Валерівна", ("юлія", "валерівна"), "стеценко"),
        ("Nabil Hamdan", ("nabil",), "hamdan"),
        ("نبيل حمدان", ("نبيل",), "حمدان"),
        ("Inmaculada Cárdenas Duarte", ("inmaculada", "cárdenas", "duarte"), "cárdenasduarte"),
        ("Benigna Sepúlveda Martín", ("benigna", "martín"), "sepúlvedamartín"),
    ],
)
def test_particles_and_patronymics_say_where_a_surname_begins(full: str, givens: tuple[str, ...], surname: str) -> None:
    person = person_of({"full_name": full})
    assert person is not None
    assert person.givens == givens
    assert surname in person.surnames
