"""The validators adapted from Presidio agree with the installed presidio-analyzer (docs/decisions/0022)."""

from __future__ import annotations

import string
from random import Random
from typing import Any

import pytest
from presidio_analyzer import predefined_recognizers
from presidio_analyzer.predefined_recognizers import InAadhaarRecognizer

from sovctl.gateway.detect.validators import presidio

_TEXTS = 400  # of each form, each with every last character
# Function -> Presidio's recognizer, and forms: 9 a digit, A a letter, * either, other characters as they are.
VALIDATORS = {
    "au_abn": ("AuAbnRecognizer", ["99999999999"]),
    "au_acn": ("AuAcnRecognizer", ["999999999"]),
    "au_tfn": ("AuTfnRecognizer", ["999999999"]),
    "ca_sin": ("CaSinRecognizer", ["999999999", "000000000"]),
    "de_health_insurance": ("DeHealthInsuranceRecognizer", ["A999999999"]),
    "de_social_security": ("DeSocialSecurityRecognizer", ["99999999A999", "99010199A999", "99611299A999"]),
    "de_tax_id": ("DeTaxIdRecognizer", ["99999999999", "09999999999"]),
    "es_nie": ("EsNieRecognizer", ["X9999999A", "Y9999999A", "Z9999999A"]),
    "es_nif": ("EsNifRecognizer", ["99999999A", "9999999A"]),
    "fi_hetu": ("FiPersonalIdentityCodeRecognizer", ["010199-999*", "311299A999*", "290200-999*", "999999+999*"]),
    "in_aadhaar": ("InAadhaarRecognizer", ["999999999999", "222222222222"]),
    "it_fiscal_code": ("ItFiscalCodeRecognizer", ["AAAAAA99A99A999A", "AAAAAA**A**A***A"]),
    "it_vat": ("ItVatCodeRecognizer", ["99999999999", "00000000000"]),
    "kr_brn": ("KrBrnRecognizer", ["9999999999"]),
    "ng_nin": ("NgNinRecognizer", ["99999999999"]),
    "pl_pesel": ("PlPeselRecognizer", ["99999999999"]),
    "se_personnummer": ("SePersonnummerRecognizer", ["9999999999", "9901019999", "199912319999", "9912919999"]),
    "sg_uen": ("SgUenRecognizer", ["99999999A", "199999999A", "209999999A", "T99LL9999A", "S99FC9999A", "R99ZZ9999A"]),
    "th_tnin": ("ThTninRecognizer", ["9999999999999"]),
    "tr_id": ("TrNationalIdRecognizer", ["99999999999", "01999999999"]),
    "uk_nhs": ("NhsRecognizer", ["9999999999"]),
    "us_dea": ("MedicalLicenseRecognizer", ["A*9999999"]),
    "us_npi": ("UsNpiRecognizer", ["9999999999", "1111111119"]),
    "us_routing": ("AbaRoutingRecognizer", ["999999999"]),
}
ADDRESSES = [
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",  # of Bitcoin's first block
    "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",  # BIP 173
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",  # BIP 350
]


def _agrees(function: str, text: str, recognizer: Any) -> bool:
    if "validate_result" in vars(type(recognizer)):
        expected = recognizer.validate_result(text) is True
    else:
        expected = not recognizer.invalidate_result(text)
    return bool(getattr(presidio, function)(text)) is expected


def _filled(form: str, dice: Random) -> str:
    choices = {"9": string.digits, "A": string.ascii_uppercase, "*": string.digits + string.ascii_uppercase}
    return "".join(dice.choice(choices.get(character, character)) for character in form)


@pytest.mark.parametrize("function", VALIDATORS)
def test_a_validator_agrees_with_presidio(function: str) -> None:
    name, forms = VALIDATORS[function]
    recognizer, dice, valid = getattr(predefined_recognizers, name)(), Random(7), 0
    for form in forms:
        last = string.digits if form[-1] in string.digits else string.ascii_uppercase + "0123456789" * (form[-1] == "*")
        for text in (_filled(form, dice)[:-1] for _ in range(_TEXTS)):
            for character in last:
                valid += bool(getattr(presidio, function)(text + character))
                assert _agrees(function, text + character, recognizer), text + character
    assert valid > 10


@pytest.mark.parametrize("address", ADDRESSES)
def test_bitcoin_addresses_agree_with_presidio(address: str) -> None:
    recognizer, dice = predefined_recognizers.CryptoRecognizer(), Random(7)
    assert presidio.crypto_bitcoin(address)
    assert _agrees("crypto_bitcoin", address, recognizer)
    for _ in range(_TEXTS):
        place = dice.randrange(len(address))
        character = dice.choice(string.ascii_letters + string.digits)
        altered = address[:place] + character + address[place + 1 :]
        assert _agrees("crypto_bitcoin", altered, recognizer), altered


def test_a_palindrome_is_no_aadhaar_number() -> None:
    recognizer = InAadhaarRecognizer()
    for half in range(200_000, 999_999, 97):
        text = f"{half}{str(half)[::-1]}"
        assert _agrees("in_aadhaar", text, recognizer), text
