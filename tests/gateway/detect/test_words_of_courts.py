"""States, parties of a lawsuit and legal forms are no names, also in capitals after a role (issue 15)."""

from __future__ import annotations

from typing import Any

import pytest

from bench.pii import REGIONS
from bench.pii_sets.legal_forms import counters, languages, legal_forms
from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.name_finder import NameFinder
from sovctl.gateway.detect.text.deobfuscation import views
from sovctl.gateway.settings import DetectSettings


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


@pytest.mark.parametrize(
    "text",
    [
        "powód Budimex S.K.A. w Warszawie",
        "pozwany Drutex S.A. z siedzibą w Bytowie",
        "Client: UAB Rytas",
        "client AB Volvo",
        "customer PT Astra International",
        "истец ПАО Сбербанк России",
        "Beklagte: Hansa Feinkost OHG",
        "Il cliente Officine Lago S.r.l. paga",
        "ms latency of the service",
    ],
)
def test_a_legal_form_anywhere_makes_a_company(text: str) -> None:
    assert [text[each.start : each.end] for each in NameFinder().find(views(text)[0], [])] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("pozwany Kowalski A.B. wniósł", "Kowalski A.B."),
        ("see CV Anna Kowalska", "Anna Kowalska"),
        ("Please ask ms Harwood", "Harwood"),
        ("PT JOHN SMITH was seen today", "PT JOHN SMITH"),
    ],
)
def test_a_person_next_to_the_letters_of_a_legal_form_is_found(text: str, name: str) -> None:
    found = {text[each.start : each.end] for each in NameFinder().find(views(text)[0], [])}
    assert any(name.endswith(each) and len(each) >= 7 for each in found), found


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize(("make", "most"), [(legal_forms, 5), (counters, 2)])
def test_the_generated_sets_keep_their_bars(language: str, make: Any, most: float) -> None:
    texts = [each["text"] for each in make(language, documents=40, seed=41)]
    words = sum(len(text.split()) for text in texts)
    detector = make_detector(DetectSettings(phone_regions=list(REGIONS.get(language, ("US",)))))
    assert sum(len(detector.find(text)) for text in texts) < most * words / 1000
