"""States, parties of a lawsuit and legal forms are no names, also in capitals after a role (issue 15)."""

from __future__ import annotations

import pytest

from sovctl.gateway.detect.name_finder import NameFinder
from sovctl.gateway.detect.text.deobfuscation import views


@pytest.mark.parametrize(
    "text",
    [
        "WYROK W IMIENIU RZECZYPOSPOLITEJ POLSKIEJ",
        "W imieniu Rzeczypospolitej Polskiej sąd orzekł, że apelacja jest zasadna.",
        "the judge SUPREME COURT OF JUSTICE ruled",
        "domnul Reclamantul a solicitat, iar domnul Pârâtul a refuzat",
        "le client SARL demande",
        "powód S.K.A. wniósł pozew",
        "pozwany XYZ Sp. z o.o. w Krakowie",
    ],
)
def test_a_word_of_courts_is_no_name(text: str) -> None:
    assert [text[each.start : each.end] for each in NameFinder().find(views(text)[0], [])] == []


def test_a_party_with_a_name_is_still_found() -> None:
    text = "W imieniu Anny Kowalskiej wnoszę o zmianę wyroku."
    assert {text[each.start : each.end] for each in NameFinder().find(views(text)[0], [])} == {"Anny Kowalskiej"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("El Dr. Pedro Salinas se encuentra en la oficina.", "Pedro Salinas"),
        ("EL DR. PEDRO SALINAS SE ENCUENTRA EN LA OFICINA.", "PEDRO SALINAS"),
        ("Bitte rufen Sie Herrn Jonas Meier ab Montag an.", "Jonas Meier"),
        ("Pan Jan Nowicki co tydzień dzwoni.", "Jan Nowicki"),
    ],
)
def test_a_word_that_is_also_a_legal_form_ends_a_name(text: str, name: str) -> None:
    assert {text[each.start : each.end] for each in NameFinder().find(views(text)[0], [])} == {name}


@pytest.mark.parametrize("text", ["Der Kunde Robert Bosch SE zahlt.", "le client Renault SA demande", "Kunde: BASF SE"])
def test_a_legal_form_makes_a_company(text: str) -> None:
    assert [text[each.start : each.end] for each in NameFinder().find(views(text)[0], [])] == []
