"""Identifiers in spellings and contexts of unseen data do not reach a cloud: list lines, OCR, series, registers."""

from __future__ import annotations

from typing import Any

import pytest
from surface_givens import post

_SHORTEST_PART = 4  # characters; shorter ones are in every request

# Text with the value in angle brackets; issue 15, part B.
CASES = (
    # A line break and a list marker, or another field, end a number.
    "Account number: ⟨12-345678⟩\n2. The customer asked for a contract.",
    "Account number: ⟨12-345678⟩\r\n2) The customer asked.",
    "bank account ⟨482 91734⟩\n15 items left",
    "Passport no. ⟨48 2917345⟩\n3 - closed by the agent",
    # Letters in the place of digits.
    "PESEL: ⟨44O5l401359⟩",
    "NIP ⟨l23-456-32-IB⟩",
    "IBAN: ⟨DE89 37O4 O044 0532 0l30 00⟩",
    "IBAN ⟨GB29NWBK6O1613319268I9⟩",
    "SSN: ⟨S36-22-B725⟩",
    "He paid with ⟨4lll 1111 1111 111l⟩.",
    "Date of birth: ⟨l2.O5.198O⟩",
    # Blank lines within a number.
    "PESEL: ⟨44051\r\n\r\n401359⟩",
    "IBAN: ⟨DE893704\n \n00440532013000⟩",
    "SSN ⟨5 3 6  2 2  8 7 2 5⟩",
    # Letters before digits belong to the number.
    "Identity card ⟨PVB 474870⟩",
    "company ⟨CHE-123.456.780⟩ has moved",
    "VAT number ⟨PT/123456780⟩",
    "Driving licence ⟨DL-0420110149646⟩",
    # Registers of companies.
    "Cod unic de înregistrare: ⟨1590082⟩",
    "C.U.I. ⟨24736⟩, capital social 200 lei",
    "UAB Rytas, įmonės kodas ⟨195366002⟩",
    "Weißblatt GmbH, Amtsgericht Ulm, ⟨HRB-12345⟩",
    "Unsere Steuer-Nr. lautet ⟨21/815/08150⟩.",
    "Weißblatt GmbH, ⟨FN 71396w⟩, Handelsgericht Wien",
    "IČ ⟨25596641⟩, zapsaná v obchodním rejstříku",
    "registrikood ⟨12219301⟩",
    "Vienotais reģistrācijas Nr. ⟨50007593741⟩",
    "ЕМБС: ⟨5472813⟩",
    "Matična številka: ⟨6572855000⟩",
    "Cégjegyzékszám: ⟨13-09-783861⟩",
    # A VIN in groups, and Thai data.
    "VIN: ⟨WVW ZZZ1JZ XW000001⟩",
    "เกิดวันที่ ⟨12 เมษายน 2530⟩",
    "วันเกิด ⟨12/01/2530⟩",
    "ทะเบียนรถ ⟨1กข-1234⟩ กรุงเทพมหานคร",
    "รหัสนักศึกษา ⟨60107420⟩",
    # Labels of driving licences and policies.
    "vairuotojo pažymėjimo numeris ⟨32321445⟩",
    "číslo pojistné smlouvy: ⟨3987451201⟩",
    "保单号 ⟨AZ48291734⟩",
    "numéro de police ⟨482-9173-450⟩",
    # Passwords without a label, and in code.
    "Login: user@x / ⟨W!nter2024⟩",
    "The server is up, its password ⟨'W!nter2024'⟩ was set by Tom.",
    "CREATE USER app IDENTIFIED BY '⟨W!nter2024⟩';",
    "mysql -u root -p⟨W!nter2024⟩ shop",
    "log in as root with ⟨W!nter2024⟩ and restart",
    # A card with a wrong check digit is replaced whole.
    "credit card ⟨4111 1111 1111 1112⟩",
)


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_an_identifier_of_unseen_data_is_not_sent(case: str, gateway: Any, cloud: Any) -> None:
    value = case.partition("⟨")[2].partition("⟩")[0]
    text = case.replace("⟨", "").replace("⟩", "")
    post(gateway, "/v1/chat/completions", {"model": "assistant", "messages": [{"role": "user", "content": text}]})
    # Text without findings goes to the cloud; some types stay on-prem by policy.
    sent = b"\n".join(cloud.raw).decode()
    for part in (value.strip("'"), *value.strip("'").split()):
        assert len(part) < _SHORTEST_PART or part not in sent


def test_the_line_after_a_number_is_sent(gateway: Any, cloud: Any) -> None:
    text = "Account number: 12-345678\n2. The customer asked for a contract."
    post(gateway, "/v1/chat/completions", {"model": "assistant", "messages": [{"role": "user", "content": text}]})
    assert b"2. The customer asked for a contract." in cloud.raw[-1]
