"""Checksums of 25 identifiers, adapted from the recognizers of Presidio.

    pl_pesel("44051401359")       # True

Presidio's own packages are not imported, because that imports spaCy, numpy and an HTTP client (2.0 s; the limit for the
start of the gateway is 2.0 s), and because some recognizers log candidate texts at level ERROR (decision 0016).
`tests/gateway/detect/test_presidio.py` compares every function here with the installed presidio-analyzer.

Every function takes an identifier without separators, in upper case, of the form that its scheme describes.

Adapted from presidio-analyzer 2.2.366, https://github.com/microsoft/presidio, under this licence:

MIT License. Copyright (c) Microsoft Corporation. All rights reserved.

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from hashlib import sha256

from .check_digits import luhn, luhn_digit, mod_11_10, verhoeff, weighted

_SPANISH_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_FINNISH_CENTURIES = dict.fromkeys("YXWVU-", 1900) | dict.fromkeys("ABCDEF", 2000) | {"+": 1800}
_FINNISH_CHECKS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_ITALIAN_CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ITALIAN_DIGITS_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21)
_ITALIAN_LETTERS_ODD = (*_ITALIAN_DIGITS_ODD, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_ITALIAN_ODD = dict(zip(_ITALIAN_CHARACTERS, (*_ITALIAN_DIGITS_ODD, *_ITALIAN_LETTERS_ODD), strict=True))
_ITALIAN_EVEN = dict(zip(_ITALIAN_CHARACTERS, (*range(10), *range(26)), strict=True))
_BUSINESS_CHECKS, _COMPANY_CHECKS = "XMKECAWLJDB", "ZKCMDNERGWH"
_UEN_CHARACTERS = "ABCDEFGHJKLMNPQRSTUVWX0123456789"
_UEN_ENTITIES = frozenset(
    {"LP", "LL", "FC", "PF", "RF", "MQ", "MM", "NB", "CC", "CS", "MB", "FM", "GS", "DP", "CP", "NR", "CM", "CD", "MD"}
    | {"HS", "VH", "CH", "MH", "CL", "XL", "CX", "HC", "RP", "TU", "TC", "FB", "FN", "PA", "PB", "SS", "MC", "SM", "GA"}
    | {"GB"}
)
_BASE58 = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)  # BIP 173
_BECH32_CONSTANTS = (1, 0x2BC830A3)  # BIP 173, BIP 350
_LONGEST_BECH32 = 90  # characters


def au_abn(digits: str) -> bool:
    """Return whether an Australian Business Number is valid."""
    return (weighted(digits, (10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19)) - 10) % 89 == 0


def au_acn(digits: str) -> bool:
    """Return whether an Australian Company Number is valid."""
    return -weighted(digits[:8], (8, 7, 6, 5, 4, 3, 2, 1)) % 10 == int(digits[-1])


def au_tfn(digits: str) -> bool:
    """Return whether an Australian Tax File Number is valid."""
    return weighted(digits, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def ca_sin(digits: str) -> bool:
    """Return whether a Canadian Social Insurance Number is valid."""
    return luhn_digit(digits[:-1]) == digits[-1]


def crypto_bitcoin(address: str) -> bool:
    """Return whether a Bitcoin address is valid: Base58Check, Bech32 or Bech32m. Its case matters."""
    if address.startswith(("1", "3")):
        decoded = _base58(address)
        return decoded is not None and sha256(sha256(decoded[:-4]).digest()).digest()[:4] == decoded[-4:]
    return address.startswith("bc1") and _is_bech32(address)


def de_health_insurance(text: str) -> bool:
    """Return whether a German Krankenversichertennummer is valid."""
    number = f"{ord(text[0]) - ord('A') + 1:02}{text[1:9]}"
    return _cross_total(number, (1, 2) * 5) % 10 == int(text[9])


def de_social_security(text: str) -> bool:
    """Return whether a German Rentenversicherungsnummer is valid."""
    day, month = int(text[2:4]), int(text[4:6])
    if not (1 <= day <= 31 or 51 <= day <= 81) or not 1 <= month <= 12:
        return False
    number = f"{text[:8]}{ord(text[8]) - ord('A') + 1:02}{text[9:11]}"
    return _cross_total(number, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)) % 10 == int(text[11])


def de_tax_id(digits: str) -> bool:
    """Return whether a German Steuer-Identifikationsnummer is valid."""
    return digits[0] != "0" and max(Counter(digits[:10]).values()) <= 3 and mod_11_10(digits)


def es_nie(text: str) -> bool:
    """Return whether a Spanish NIE is valid."""
    return _SPANISH_LETTERS[int(f"{'XYZ'.index(text[0])}{text[1:-1]}") % 23] == text[-1]


def es_nif(text: str) -> bool:
    """Return whether a Spanish NIF is valid."""
    return _SPANISH_LETTERS[int("".join(filter(str.isdigit, text))) % 23] == text[-1]


def fi_hetu(text: str) -> bool:
    """Return whether a Finnish personal identity code, with its separator, is valid."""
    if len(text) != 11:
        return False
    try:
        datetime(_FINNISH_CENTURIES.get(text[6], 2000) + int(text[4:6]), int(text[2:4]), int(text[:2]))  # noqa: DTZ001 - a date
    except ValueError:
        return False
    return _FINNISH_CHECKS[int(text[:6] + text[7:10]) % 31] == text[-1].upper()


def in_aadhaar(digits: str) -> bool:
    """Return whether an Indian Aadhaar number is valid."""
    return digits[0] not in "01" and digits != digits[::-1] and verhoeff(digits)


def it_fiscal_code(text: str) -> bool:
    """Return whether an Italian codice fiscale is valid."""
    odd = sum(map(_ITALIAN_ODD.__getitem__, text[:-1][::2]))
    even = sum(map(_ITALIAN_EVEN.__getitem__, text[:-1][1::2]))
    return chr(ord("A") + (odd + even) % 26) == text[-1]


def it_vat(digits: str) -> bool:
    """Return whether an Italian partita IVA is valid."""
    return luhn(digits)


def kr_brn(digits: str) -> bool:
    """Return whether a Korean business registration number is valid."""
    total = weighted(digits[:9], (1, 3, 7, 1, 3, 7, 1, 3, 5)) + int(digits[8]) * 5 // 10
    return -total % 10 == int(digits[9])


def ng_nin(digits: str) -> bool:
    """Return whether a Nigerian National Identification Number is valid."""
    return verhoeff(digits)


def pl_pesel(digits: str) -> bool:
    """Return whether a Polish PESEL is valid."""
    return -weighted(digits[:10], (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10 == int(digits[10])


def se_personnummer(text: str) -> bool:
    """Return whether a Swedish personnummer or samordningsnummer is valid."""
    digits = "".join(filter(str.isdigit, text))[-10:]
    day = int(digits[4:6])
    is_day = 1 <= (day - 60 if day >= 61 else day) <= 31
    return is_day and 1 <= int(digits[2:4]) <= 12 and luhn_digit(digits[:-1]) == digits[-1]


def sg_uen(text: str) -> bool:
    """Return whether a Singaporean Unique Entity Number is valid."""
    if len(text) == 9:
        return _BUSINESS_CHECKS[weighted(text[:8], (10, 4, 9, 3, 8, 2, 7, 1)) % 11] == text[-1]
    if text[0].isalpha():
        if text[0] not in "TSR" or text[3:5] not in _UEN_ENTITIES:
            return False
        values = map(_UEN_CHARACTERS.index, text[:9])
        total = sum(value * weight for value, weight in zip(values, (4, 3, 5, 3, 10, 2, 2, 5, 7), strict=True))
        return _UEN_CHARACTERS[(total - 5) % 11] == text[-1]
    if int(text[:4]) > date.today().year:  # noqa: DTZ011 - a year
        return False
    return _COMPANY_CHECKS[weighted(text[:9], (10, 8, 6, 4, 9, 7, 5, 3, 1)) % 11] == text[-1]


def th_tnin(digits: str) -> bool:
    """Return whether a Thai national identification number is valid."""
    return (11 - weighted(digits[:12], range(13, 1, -1)) % 11) % 10 == int(digits[12])


def tr_id(digits: str) -> bool:
    """Return whether a Turkish T.C. kimlik numarası is valid."""
    tenth = weighted(digits[:9], (7, -1, 7, -1, 7, -1, 7, -1, 7)) % 10
    return digits[0] != "0" and tenth == int(digits[9]) and weighted(digits[:10], (1,) * 10) % 10 == int(digits[10])


def uk_nhs(digits: str) -> bool:
    """Return whether a British NHS number is valid."""
    return weighted(digits, range(10, 0, -1)) % 11 == 0


def us_dea(text: str) -> bool:
    """Return whether the registration number of the US Drug Enforcement Administration is valid."""
    return weighted(text[2:8], (1, 2, 1, 2, 1, 2)) % 10 == int(text[-1])


def us_npi(digits: str) -> bool:
    """Return whether a US National Provider Identifier is valid."""
    return luhn(f"80840{digits}")


def us_routing(digits: str) -> bool:
    """Return whether an ABA routing number is valid."""
    return weighted(digits, (3, 7, 1) * 3) % 10 == 0


def _cross_total(digits: str, factors: Sequence[int]) -> int:
    """The sum of the digit sums of each digit times its factor."""
    products = (int(digit) * factor for digit, factor in zip(digits, factors, strict=True))
    return sum(product // 10 + product % 10 for product in products)


def _base58(text: str) -> bytes | None:
    encoded = text.encode()
    significant = encoded.lstrip(_BASE58[:1])
    number = 0
    for character in significant:
        value = _BASE58.find(character)
        if value < 0:
            return None
        number = number * 58 + value
    return number.to_bytes(len(encoded) - len(significant) + (number.bit_length() + 7) // 8, "big")


def _is_bech32(text: str) -> bool:
    if text not in (text.lower(), text.upper()):
        return False
    prefix, _, data = text.lower().rpartition("1")
    if not prefix or len(data) < 6 or len(text) > _LONGEST_BECH32 or not set(data) <= set(_BECH32):
        return False
    values = [ord(character) >> 5 for character in prefix] + [0] + [ord(character) & 31 for character in prefix]
    checksum = 1
    for value in (*values, *map(_BECH32.index, data)):
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_BECH32_GENERATOR):
            checksum ^= generator if top >> bit & 1 else 0
    return checksum in _BECH32_CONSTANTS
