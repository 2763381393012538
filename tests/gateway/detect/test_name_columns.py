"""People below a header, or behind a label in the cell before, are found; places, products and headers are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.detect.build import make_detector
from sovctl.gateway.detect.names.context import find_names
from sovctl.gateway.detect.text.words import words_of
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.settings.detection.detect import DetectSettings

DETECTOR = make_detector(DetectSettings())
# Header and two names that no table of given names has; invented.
PEOPLE = [
    ("Contact person", "Ysolde Trewhitt", "Corbin Haldesworth"),
    ("full_name", "Ysolde Trewhitt", "Corbin Haldesworth"),
    ("customerName", "Ysolde Trewhitt", "Corbin Haldesworth"),
    ("Ansprechpartner", "Börries Quandt", "Jelka Ostrowitz"),
    ("Kontaktperson", "Börries Quandt", "Jelka Ostrowitz"),
    ("Interlocuteur", "Maëlys Vaucanson", "Gwénolé Trébuchet"),
    ("Persona de contacto", "Leocadia Urrutia", "Iñigo Zubizarreta"),
    ("Osoba kontaktowa", "Świętomira Gawrońska", "Ziemowit Pęczak"),
    ("Контактное лицо", "Ждана Хмелёва", "Еремей Шубников"),
    ("ФИО", "Ждана Хмелёва", "Еремей Шубников"),
    ("Nama lengkap", "Wulandari Prasetyaningsih", "Jatmiko Hadisubroto"),
    ("الشخص المسؤول", "ميسون الزهراوي", "غسان الدباغ"),
]


def people_in(text: str) -> list[str]:
    return [text[found.start : found.end] for found in DETECTOR.find(text) if found.entity_type is EntityType.PERSON]


@pytest.mark.parametrize(("head", "first", "second"), PEOPLE)
def test_people_below_their_header_are_found(head: str, first: str, second: str) -> None:
    for separator in ";\t|,":
        rows = [["nr", head, "x"], ["17", first, "Kiel"], ["18", second, "Bonn"]]
        assert people_in("\n".join(map(separator.join, rows))) == [first, second]
        assert people_in("\n".join(separator.join(row[1:]) for row in rows)) == [first, second]
    table = f"| {head} | x |\n|---|---|\n| {first} | Kiel |\n| {second} | Bonn |\n"
    assert people_in(table) == [first, second]


@pytest.mark.parametrize(("head", "first", "_"), PEOPLE)
def test_a_person_in_the_cell_behind_a_label_is_found(head: str, first: str, _: str) -> None:
    assert people_in(f"Ort\tKiel\n{head}\t{first}\nPLZ\t24103\n") == [first]


def test_one_word_is_enough_where_a_table_has_both_names() -> None:
    text = "Vorname\tNachname\nBörries\tQuandt\nJelka\tOstrowitz\n"
    assert people_in(text) == ["Börries", "Quandt", "Jelka", "Ostrowitz"]
    text = 'id,"full name",city,zip,state\n1,"Quandt, Börries",Kiel,24,open\n'
    assert people_in(text) == ["Quandt, Börries"]


@pytest.mark.parametrize("head", ["name", "Patient", "Kunde", "Автор", "nama"])
def test_below_a_word_that_may_say_something_else_known_given_names_tell_people(head: str) -> None:
    assert people_in(f"nr;{head};x\n1;Anna Weber;a\n2;Jelka Ostrowitz;b\n") == ["Anna Weber", "Jelka Ostrowitz"]
    assert people_in(f"nr;{head};x\n1;Galaxy Ultra;a\n2;Pixel Pro;b\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "From\tTo\tDate\nSan Antonio\tSanta Cruz\t1\nFlorence\tVictoria\t2\n",
        "product name;x;y\nGalaxy Ultra;1;2\nPixel Pro;1;2\n",
        "Vorname\tAlter\nKiel\t24103\n",
        "Gefragt sind Vorname, Nachname, Ort\nund dann kommt Hamburg, Kiel, Bonn\n",
        "Ansprechpartner;Ort;x\nUnknown;Kiel;1\nN/A;Bonn;2\n-;Bonn;2\n",
        "Kundenname;Betrag;x\nMüller GmbH;12;1\nAcme Ltd;13;1\n",
    ],
)
def test_columns_without_names_have_no_findings(text: str) -> None:
    assert people_in(text) == []


def test_particles_are_no_everyday_words_within_a_name() -> None:
    assert people_in("nr;Ansprechpartner;x\n1;Börries von der Quandt;a\n") == ["Börries von der Quandt"]
    assert people_in("Ort\tKiel\nAnsprechpartner\tBörries von Quandt\n") == ["Börries von Quandt"]
    assert people_in("nr;Kundenname;x\n1;Bad an der Saale;a\n") == []


def test_a_header_beside_another_is_no_name() -> None:
    assert people_in("Kontaktperson\tOffene Posten\nBörries Quandt\t17\n") == ["Börries Quandt"]


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("Anna Quandt\tKiel\t24103", ["Anna Quandt", "Kiel"]),
        ("Anna\tQuandt\t24103 Kiel", ["Anna", "Quandt"]),
        ("Anna Maria \t Quandt\t17", ["Anna Maria", "Quandt"]),
        ("Anna\tvan der Berg\t17", ["Anna", "van der Berg"]),
        ("17\tHerr\tQuandt\tKiel", ["Quandt", "Kiel"]),
        ("Иван\tИванович\tПетров", ["Иван", "Иванович", "Петров"]),
        ("محمد\tالزهراوي", ["محمد", "الزهراوي"]),
        ("Börries Quandt\tKiel\tquandt@example.com", ["Börries Quandt", "Kiel"]),
        ("Name: Quandt\tOrt: Kiel", ["Quandt"]),
    ],
)
def test_a_tab_ends_a_name_and_what_stands_behind_it_stays_covered(row: str, cells: list[str]) -> None:
    """A surname may stand there, and nothing but a list of places tells one from a place."""
    assert people_in(row) == cells
    assert people_in(f"17\t18\n{row}\n19\t20\n") == cells


_WORDS = st.sampled_from(
    ["Anna", "Quandt", "Kiel", "van der", "Dr. ", "Иван", "Иванович", "محمد", "بن", "A.", "17", "name:"]
)


@given(st.lists(_WORDS, min_size=2, max_size=8), st.integers(1, 7))
def test_in_cells_no_less_of_a_name_is_covered_than_in_a_sentence(words: list[str], first: int) -> None:
    def covered(text: str) -> set[int]:
        found = find_names(words_of(text))
        return {place for each in found for place in range(each.start, each.end) if not text[place].isspace()}

    before, behind = " ".join(words[:first]), " ".join(words[first:])
    assert covered(f"{before} {behind}") <= covered(f"{before}\t{behind}")
    assert not any("\t" in each.value for each in find_names(words_of(f"{before}\t{behind}")))
