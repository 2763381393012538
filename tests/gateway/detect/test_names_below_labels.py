"""A name below a label is found where either has a line of its own; headings and lines of prose are left alone."""

from __future__ import annotations

import pytest

from sovctl.gateway.detect.build import make_detector
from sovctl.gateway.detect.names.label_below import name_below
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.settings.detection.detect import DetectSettings

DETECTOR = make_detector(DetectSettings())
# Names that no table of given names has; invented. The labels are headers of columns, too.
LABELS = [
    ("Contact person", "Ysolde Trewhitt"),
    ("CONTACT PERSON", "YSOLDE TREWHITT"),
    ("Ansprechpartner", "Börries von Quandt"),
    ("Interlocuteur", "Maëlys Vaucanson"),
    ("Persona de contacto", "Leocadia Urrutia Zubizarreta"),
    ("Osoba kontaktowa", "Świętomira Gawrońska"),
    ("Контактное лицо", "Хмелёва Ждана"),
    ("Nama lengkap", "Wulandari Prasetyaningsih"),
    ("الشخص المسؤول", "ميسون الزهراوي"),
]
ROLES = [
    ("Patient", "Ysolde Trewhitt"),
    ("Customer name", "Ysolde Trewhitt"),
    ("Kundin", "Jelka Ostrowitz"),
    ("Bénéficiaire", "Maëlys Vaucanson"),
    ("Paciente", "Leocadia Urrutia"),
    ("Klientka", "Świętomira Gawrońska"),
    ("Заявитель", "Ждана Хмелёва"),
    ("Nasabah", "Wulandari Prasetyaningsih"),
    ("المريض", "محمد الزهراوي"),
    ("Name", "Börries Quandt"),
    ("Имя", "Ждана Хмелёва"),
]


def people_in(text: str) -> list[str]:
    return [text[found.start : found.end] for found in DETECTOR.find(text) if found.entity_type is EntityType.PERSON]


@pytest.mark.parametrize(("label", "name"), LABELS)
def test_below_a_label_that_speaks_of_people_a_name_is_found(label: str, name: str) -> None:
    for form in (
        "{}\n{}",
        "{}:\n{}",
        "{}\r\n{}\r\n",
        "{} :\n\n{}\n",
        "Ort\nKiel\n\n{}\n{}\nPLZ\n24103",
        "# Ort\n\nKiel\n\n## {}\n\n{}\n",
        "**{}:**\n\n**{}**\n",
        "> {}:\n>\n> {}\n> 24103",
        "- {}\n  - {}\n- 24103",
        "{}:\n{},\n24103 Kiel",
    ):
        assert people_in(form.format(label, name)) == [name], form


@pytest.mark.parametrize(("label", "name"), ROLES)
def test_below_a_role_or_a_field_it_takes_a_colon(label: str, name: str) -> None:
    assert people_in(f"Nr. 17\n{label}:\n\n{name}\nKiel") == [name]
    assert people_in(f"**{label}:**\n{name}\n") == [name]


def test_one_word_is_enough_where_it_is_known_or_the_label_takes_a_colon() -> None:
    assert people_in("Vorname\nAnna\nNachname:\n\nQuandt\n") == ["Anna", "Quandt"]
    assert people_in("Patient:\n\nAnna\n") == ["Anna"]
    assert people_in("Patient:\n\nQuandt\n") == []
    assert people_in("Nachname\nQuandt\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "Patient\n\nGalaxy Ultra\n",  # a heading, perhaps
        "Kunde\nNordwind Logistik\n",
        "Ask the contact person\nYsolde Trewhitt\n",
        "Please give the customer name\nYsolde Trewhitt\n",
        "17 Contact person\nYsolde Trewhitt\n",
        "Contact person, please\nYsolde Trewhitt\n",
        "Contact person:\n\n\n\nYsolde Trewhitt\n",
        "Contact person\nYsolde Trewhitt called\n",
        "Contact person\nYsolde Trewhitt.\n",
        "Contact person\n17 Ysolde Trewhitt\n",
        "Contact person\nTerms and Conditions\n",
        "Contact person\nTerms Conditions Payment\n",
        "CONTACT PERSON\nTERMS OF PAYMENT\n",
        "Contact person\nYsolde Trewhitt Corbin Haldesworth Quimby\n",
        "Ansprechpartner\nAbteilung Einkauf\n",
        "Ansprechpartner:\n\nMüller GmbH\n",
        "Vorname\nNachname\nStraße\nWohnort\n",
        "Vorname:\n\nNachname:\n\nWohnort:\n",
        "Contact person\nAccount holder\nNext of kin\n",
        "Vorname:\n\nNachname\n\nKiel\n",
        "الشخص المسؤول\nجهة الاتصال\n",
        "Product name:\n\nGalaxy Ultra\n",
        "From:\n\nSanta Cruz\n",
        "المريض:\nارتفاع شديد\n",
        "Contact person",
        "Contact person:\n\n",
    ],
)
def test_what_is_no_label_or_no_name_stays(text: str) -> None:
    assert people_in(text) == []


@pytest.mark.parametrize("unit", ["Patient:\n", "Patient:\n\n\n", "Contact person\n", "> Contact person:\n> \n"])
def test_no_more_of_a_text_is_read_than_two_lines_of_a_form(unit: str) -> None:
    """The name is the same one whatever stands before and behind what may be read of a label."""
    label = "Contact person:\n\nYsolde Trewhitt"
    alone = name_below(label, label.index(":"))
    assert alone is not None
    shift = len(unit) * 200
    text = f"{unit * 200}\n{label}\n{unit * 200}"
    assert name_below(text, shift + 1 + label.index(":")) == alone._replace(
        start=alone.start + shift + 1, end=alone.end + shift + 1
    )
    assert name_below(f"{'x' * 100}Contact person:\nYsolde Trewhitt", 114) is None
    assert name_below(f"Contact person:\nYsolde {'X' * 100}", 14) is None
