"""Numbers that only the words beside them explain, in the words of many countries' offices."""

import pytest

from sovctl.gateway.detect.detector import Detector
from sovctl.gateway.detect.structured_finder import StructuredFinder

DETECTOR = Detector([StructuredFinder(phone_regions=["DE"])])


def found(text: str) -> list[tuple[str, str]]:
    return [(text[each.start : each.end], each.rule) for each in DETECTOR.find(text)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Company number: 04417732", "04417732"),
        ("Norwegian organisation number: 974 331 208", "974 331 208"),
        ("556410-7718 är vårt orgnummer.", "556410-7718"),
        ("KRS: 0000417733", "0000417733"),
        ("Identifikační číslo osoby: 04417735", "04417735"),
        ("RNC: 1-31-44177-9", "1-31-44177-9"),
        ("УНП: 191447738", "191447738"),
        ("едниствен даночен број 4030993417745", "4030993417745"),
        ("Poreski broj 02441778", "02441778"),
        ("Cédula de Residencia: 117004417739", "117004417739"),
        ("BN 441773900RC0001", "441773900RC0001"),
        ("LANR: 441773901 des Arztes", "441773901"),
        ("National Provider Identifier 1447730938 on file.", "1447730938"),
        ("Medical record no. 441773 on file", "441773"),
        ("My Thai ID is 3447730912845", "3447730912845"),
        ("士兵证号44177309", "44177309"),
        ("社保卡号：A44177309", "A44177309"),
        ("工行卡6222024417730938", "6222024417730938"),
        ("employee no 447730", "447730"),
        ("IMSI: 429014417730938", "429014417730938"),
        ("charge 4477 3093 8144 7730 please, it's my credit card", "4477 3093 8144 7730"),
        ("pay with 4477 3093 8144 7730", "4477 3093 8144 7730"),
        ("SV-Nummer: 80447730P645", "80447730P645"),
        ("n° sécu 272077544773093", "272077544773093"),
        ("numéro fiscal de référence 7674994477309", "7674994477309"),
        ("NSS: 44/77309381/15", "44/77309381/15"),
        ("nr konta: 20 5076 1691 3395 6611 4477 3093", "20 5076 1691 3395 6611 4477 3093"),
        ("título de eleitor 4477 3093 8350", "4477 3093 8350"),
        ("nasceu em 27/03/1986", "27/03/1986"),
        ("nació el 14 de marzo de 1931", "14 de marzo de 1931"),
        ("conta 64477-2", "64477-2"),
    ],
)
def test_an_offices_word_is_enough(text: str, number: str) -> None:
    assert [each for each, _ in found(text)] == [number]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("Taxpayer reference: 4477309381", ["TAX_ID_BY_WORD"]),
        ("Our reference: 4477309381", []),
        ("tax return, our reference: 4477309381", []),
    ],
)
def test_a_taxpayers_reference_is_no_orders(text: str, rules: list[str]) -> None:
    assert [rule for _, rule in found(text)] == rules


@pytest.mark.parametrize(
    "text",
    [
        "Numer rachunku: PL 62 1090 2590 0000 0001 4477 3093",
        "IBAN: DE 12 5001 0517 5407 3249 39",
    ],
)
def test_an_iban_with_a_wrong_digit_may_have_a_space_behind_its_country(text: str) -> None:
    assert [each for each, _ in found(text)] == [text.partition(": ")[2]]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("passport c44773093", "c44773093"),
        ("Mi pasaporte es xdb447730", "xdb447730"),
        ("xdb447730 es mi número de pasaporte", "xdb447730"),
    ],
)
def test_a_passport_may_be_written_in_small_letters(text: str, number: str) -> None:
    assert found(text) == [(number, "PASSPORT_BY_WORD")]


@pytest.mark.parametrize(
    "number",
    [
        "447.730.938-17",
        "447-730-938 17",
        "756.4477.3093.17",
        "784-1990-4477309-1",
        "44.773.093/0001-17",
        "4477-3093-8144-7731",
    ],
)
def test_an_issuers_own_form_is_enough_though_its_check_digit_is_wrong(number: str) -> None:
    assert found(f"We saw {number} in it.") == [(number, "ID_BY_FORM")]
    assert found(f"invoice no. {number}") == []


def test_a_number_that_goes_on_is_not_cut() -> None:
    assert [each for each, _ in found("CPF: 111.222.333-44 e 447.730.938-17")] == ["111.222.333-44", "447.730.938-17"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("passport no AB4477309 8888", "AB4477309"),
        ("客户编号：44773093", "44773093"),
        ("Versicherungspolice: POL-447730938", "POL-447730938"),
        ("My voter ID is V4477309", "V4477309"),
        ("Mein Militärausweis ist M44773093", "M44773093"),
        ("loan number LN-44773093 is open", "LN-44773093"),
        ("Aufenthaltsgenehmigung: RP447730", "RP447730"),
    ],
)
def test_a_number_ends_where_the_next_begins(text: str, number: str) -> None:
    assert [each for each, _ in found(text)] == [number]


@pytest.mark.parametrize("text", ["Nectar-kort: 15 001–19 999 kronor", "account fees of 120000 – 360000"])
def test_a_range_is_nobodys(text: str) -> None:
    assert found(text) == []
