"""What the header of a table names is found in its column, and columns that count something are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.detect.build import make_detector
from sovctl.gateway.detect.tables.columns import ColumnFinder
from sovctl.gateway.detect.text.view import NormalizedText
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.settings.detection.detect import DetectSettings
from sovctl.gateway.tokens.token import TokenIssuer

DETECTOR = make_detector(DetectSettings(phone_regions=["DE"]))
# Header and value, with what the value is; invented.
COLUMNS = [
    (EntityType.PASSPORT, "passport_no", "C5KY8WYTL"),
    (EntityType.PASSPORT, "Reisepassnummer", "187339495"),
    (EntityType.DRIVING_LICENCE, "driverLicense", "W962-4568-9564"),
    (EntityType.VEHICLE, "Kennzeichen", "B-MW 1234"),
    (EntityType.VEHICLE, "license_plate", "沪A-12345"),
    (EntityType.IMEI, "imei", "353488331137068"),
    (EntityType.SECRET, "pin", "4821"),
    (EntityType.SECRET, "CREDITCARDCVV", "118"),
    (EntityType.BIRTH_DATE, "geboren am", "8. Juli 2001"),
    (EntityType.DRIVING_LICENCE, "nr prawa jazdy", "18944/12/7642"),
    (EntityType.PASSPORT, "загранпаспорт", "72 №4186926"),
    (EntityType.TAX_ID, "IČO", "65532385"),
    (EntityType.CARD, "card_number", "4111 1111 1111 1112"),
    (EntityType.CARD, "pan", "502097429786"),
    (EntityType.SWIFT, "swiftCode", "DEUTDEFF"),
    (EntityType.BIRTH_DATE, "dateOfBirth", "1983-10-05"),
    (EntityType.PHONE, "phone", "(503) 947 63"),
    (EntityType.ACCOUNT, "account_number", "56982030"),
    (EntityType.SECRET, "userPassword", "k)3Mr,!_x"),
    (EntityType.SECRET, "hasło", "PACuVWjPio"),
    (EntityType.NATIONAL_ID, "national_id", "123-45-678"),
]
NOBODYS = r"""
device,desktop,mobile\n2024,123456,654321\n2025,223456,754321
account,debit,credit\n400000,1234567.89,0.00\n411000,0.00,1234567.89
tax,total\n1234567,7654321\n1234568,7654322
name|license|url\nfoo|Apache-2.0|x\nbar|MIT|y
| phone | price |\n|---|---|\n| iPhone 15 | 1299 |\n| Pixel 9 | 899 |
test,pass,fail\nlogin,1234567,12\nlogout,2345678,0
password_changed;count\n2024-01-02;12345678\n2024-01-03;12345679
order_phone_model;qty\n12345678;1\n12345679;2
Das Passwort, das du suchst,\nverloren, so weit, so gut,\nungültig, immerhin, ja,
"""


@pytest.mark.parametrize(("kind", "head", "value"), COLUMNS)
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_cell_is_what_its_header_says(kind: EntityType, head: str, value: str, separator: str) -> None:
    rows = [["id", head, "state"], ["a", value, "open"], ["b", value, "shut"]]
    text = "\n".join(separator.join(row) for row in rows)
    found = [(f.entity_type, text[f.start : f.end]) for f in DETECTOR.find(text)]
    assert found == [(kind, value)] * 2


def test_markdown_and_quoted_cells_are_read() -> None:
    text = '| Server | Passwort |\n|---|---|\n| x | Tiger1128$ |\n\n"id","passport"\n"1","C5KY8WYTL"\n'
    assert [text[f.start : f.end] for f in DETECTOR.find(text)] == ["Tiger1128$", "C5KY8WYTL"]


def test_a_row_whose_cells_hold_commas_is_read() -> None:
    text = "id,name,password,dob\n1,R. Weber, B.A.,k)3Mr!_x,1983-10-05\n2,A. Weber,Tiger1128$,1984-10-05\n"
    found = [text[f.start : f.end] for f in DETECTOR.find(text) if f.entity_type is not EntityType.PERSON]
    assert found == ["k)3Mr!_x", "1983-10-05", "Tiger1128$", "1984-10-05"]


def test_groups_of_digits_behind_a_cell_of_digits_are_one_number() -> None:
    text = "id,card,ssn\n17,4111 1111 1111 1111,219-09-9999\n"
    assert [text[f.start : f.end] for f in DETECTOR.find(text)] == ["4111 1111 1111 1111", "219-09-9999"]


def test_the_headers_of_a_table_are_no_names_and_no_secrets() -> None:
    text = "| Name | Passwort | E-Mail-Adresse |\n|---|---|---|\n| x | Tiger1128$ | - |\n"
    assert [text[f.start : f.end] for f in DETECTOR.find(text)] == ["Tiger1128$"]


@pytest.mark.parametrize("text", NOBODYS.strip().split("\n"))
def test_columns_that_count_something_are_left_alone(text: str) -> None:
    assert DETECTOR.find(text.replace("\\n", "\n")) == []


def test_tokens_in_a_column_are_nobodys() -> None:
    issuer = TokenIssuer(bytes(32), tenant="retail", conversation="c1")
    token = issuer.token(EntityType.SECRET, "x", "x")
    assert DETECTOR.find(f"id;password;passport\n1;{token};{token}\n2;{token};{token}") == []


@given(st.text(st.sampled_from('a1;,|\t\n"- passwordIBAN'), max_size=200))
def test_every_finding_lies_in_its_text(text: str) -> None:
    for finding in ColumnFinder().find(NormalizedText(text), []):
        assert 0 <= finding.start < finding.end <= len(text)
        assert "\n" not in text[finding.start : finding.end]
