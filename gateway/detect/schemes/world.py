"""Schemes that know no country: payment cards, devices, vehicles, banks, network cards, wallets.

Sources: ISO/IEC 7812-1 and the networks' published ranges (Visa, Mastercard 2-series 2017, American Express, Diners,
Discover, JCB, UnionPay, Maestro, Mir, RuPay, Troy, Elo), 3GPP TS 23.003 (IMEI), ISO 3779 and 49 CFR 565 (VIN), ISO 9362
(BIC), IEEE 802 (MAC), BIP 173 and 350 (bech32), EIP-55. Read 2026-11.
"""

from __future__ import annotations

import hashlib
import re

from ...domain.entities import EntityType
from ..validators.check_digits import luhn
from ..validators.scheme import Form, Needs, Number

# First and last prefix of a range, and how many digits its cards have.
_RANGES: tuple[tuple[str, str, frozenset[int]], ...] = (
    ("2200", "2720", frozenset({16, 17, 18, 19})),  # Mir to 2204, Mastercard from 2221
    ("300", "305", frozenset({14})),  # Diners
    ("34", "34", frozenset({15})),  # American Express
    ("1800", "1800", frozenset({15})),  # JCB, until the nineties
    ("2131", "2131", frozenset({15})),  # the same
    ("35", "35", frozenset({16})),  # JCB has 3528 to 3589; who invents cards takes all of it
    ("3528", "3589", frozenset({17, 18, 19})),  # JCB
    ("36", "36", frozenset({14})),  # Diners
    ("37", "37", frozenset({15})),  # American Express
    ("38", "39", frozenset({14, 16})),  # Diners
    ("4", "4", frozenset({13, 16, 19})),  # Visa
    ("50", "50", frozenset({16, 18, 19})),  # Maestro, Elo, RuPay, Verve
    ("51", "55", frozenset({16})),  # Mastercard
    ("56", "58", frozenset({16, 18, 19})),  # Maestro
    ("60", "65", frozenset({16, 18, 19})),  # Discover, UnionPay, RuPay, Maestro, Elo
    ("66", "69", frozenset({16, 18, 19})),  # Maestro
    ("81", "82", frozenset({16, 19})),  # UnionPay, RuPay
    ("9792", "9792", frozenset({16})),  # Troy
)
_FIRST_DIGITS = frozenset("12345689")
_VIN = {character: value for value, character in enumerate("0123456789")} | dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)), strict=True)
)
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_BASE58 = {c: v for v, c in enumerate("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")}
_BECH32 = {c: v for v, c in enumerate("qpzry9x8gf2tvdw0s3jn54khce6mua7l")}
_BECH32_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)  # BIP 173
_BECH32_ENDS = (1, 0x2BC830A3)  # BIP 173, BIP 350

# ISO 3166-1, and XK as SWIFT uses it for Kosovo.
_COUNTRIES = frozenset(
    re.findall(
        "[A-Z]{2}",
        "ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBTBVBWBYBZCACCCDCFCGCHCICKCLCMCNCOCRCUCVCWCXCYCZ"
        "DEDJDKDMDODZECEEEGEHERESETFIFJFKFMFOFRGAGBGDGEGFGGGHGIGLGMGNGPGQGRGSGTGUGWGYHKHMHNHRHTHUIDIEILIMINIOIQIRISITJEJM"
        "JOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDMEMFMGMHMKMLMMMNMOMPMQMRMSMTMUMVMWMXMYMZNANCNENFNGNINLNONP"
        "NRNUNZOMPAPEPFPGPHPKPLPMPNPRPSPTPWPYQARERORSRURWSASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTKTLTMTNTO"
        "TRTTTVTWTZUAUGUMUSUYUZVAVCVEVGVIVNVUWFWSXKYEYTZAZMZW",
    )
)


def card(digits: str) -> bool:
    """Payment card: a range that some network gives out, in a length that it uses, and Luhn."""
    return (
        digits[0] in _FIRST_DIGITS
        and luhn(digits)
        and any(first <= digits[: len(first)] <= last and len(digits) in lengths for first, last, lengths in _RANGES)
    )


def imei(digits: str) -> bool:
    """IMEI: Luhn over fifteen digits."""
    return luhn(digits[:15])


def vin(text: str) -> bool:
    """VIN with a check digit, as North America demands it and most others fill it in."""
    if not any(map(str.isalpha, text)) or not text[13:].isdigit():
        return False
    rest = sum(_VIN[character] * weight for character, weight in zip(text, _VIN_WEIGHTS, strict=True)) % 11
    return "0123456789X"[rest] == text[8]


def vin_form(text: str) -> bool:
    """VIN without a check digit, as in Europe: letters in front, digits at the end."""
    return any(map(str.isalpha, text[:3])) and text[13:].isdigit()


def base58_address(text: str) -> bool:
    """Bitcoin, Litecoin, Dogecoin, Tron and others: base 58 with four bytes of a double SHA-256 at the end."""
    number = 0
    for character in text:
        number = number * 58 + _BASE58[character]
    if number >> 200:
        return False
    data = number.to_bytes(25)
    return hashlib.sha256(hashlib.sha256(data[:21]).digest()).digest()[:4] == data[21:]


def bitcoin_bech32(text: str) -> bool:
    """Bitcoin's and Litecoin's native addresses, as BIP 173 or BIP 350 check them."""
    prefix, _, data = text.lower().rpartition("1")
    values = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix] + [_BECH32[c] for c in data]
    check = 1
    for value in values:
        top, check = check >> 25, (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_BECH32_GENERATORS):
            check ^= generator if top >> bit & 1 else 0
    return check in _BECH32_ENDS


def mac(text: str) -> bool:
    """MAC address: a letter somewhere, or it may be a date and a time; neither all zeros nor all ones."""
    return any(map(str.isalpha, text)) and text not in ("FFFFFFFFFFFF",)


def bic(text: str) -> bool:
    """BIC of a head office, written out: it ends with XXX."""
    return text.endswith("XXX")


def bic_form(text: str) -> bool:
    """BIC with the code of a country, which most words of eight letters have not."""
    return text[4:6] in _COUNTRIES


SCHEMES: tuple[Number | Form, ...] = (
    Number(
        "CARD",
        EntityType.CARD,
        "9999 9999 9999 9999|9999-9999-9999-9999|9999 999999 99999|9999-999999-99999|9999 999999 9999|9999-999999-9999"
        "|9999999999999|999999999999999999|9999 9999 9999 9999 999|99999999 99999999|999999 999999 9999",
        card,
        near=("@card",),
    ),
    Number("IMEI", EntityType.IMEI, "99-999999-999999-9", imei, Needs.SHAPE, ("@imei",)),
    Form("VIN", EntityType.VEHICLE, "[A-HJ-NPR-Z0-9]{17}", vin, near=("@vehicle",)),
    Form("VIN_BY_WORD", EntityType.VEHICLE, "[A-HJ-NPR-Z0-9]{17}", vin_form, Needs.WORD, ("@vehicle",)),
    # In groups: WMI, VDS and VIS of ISO 3779, or any others.
    Form(
        "VIN_GROUPED",
        EntityType.VEHICLE,
        "[A-HJ-NPR-Z0-9](?:[ -]?[A-HJ-NPR-Z0-9]){16}",
        vin_form,
        Needs.WORD,
        ("@vehicle",),
        has_case=True,
    ),
    Form("BIC", EntityType.SWIFT, "[A-Z]{6}[A-Z0-9]{2}[A-Z0-9]{3}", bic, near=("@swift",), has_case=True),
    Form(
        "BIC_BY_WORD",
        EntityType.SWIFT,
        "[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?",
        bic_form,
        Needs.WORD,
        ("@swift",),
        has_case=True,
    ),
    Form("MAC", EntityType.MAC, "[0-9A-F]{2}(?::[0-9A-F]{2}){5}", mac, near=("@mac",)),
    Form("MAC", EntityType.MAC, "[0-9A-F]{2}(?:-[0-9A-F]{2}){5}", mac, near=("@mac",)),
    Form("MAC", EntityType.MAC, r"[0-9A-F]{4}\.[0-9A-F]{4}\.[0-9A-F]{4}", mac, near=("@mac",)),
    Form("MAC_BY_WORD", EntityType.MAC, "[0-9]{2}(?:[:-][0-9]{2}){5}", None, Needs.WORD, ("@mac",)),
    Form("CRYPTO_ETHEREUM", EntityType.CRYPTO, "0x[0-9A-F]{40}"),
    Form("CRYPTO_BECH32", EntityType.CRYPTO, "(?:bc|ltc|tb)1[02-9AC-HJ-NP-Z]{38,87}", bitcoin_bech32),
    Form("CRYPTO_BASE58", EntityType.CRYPTO, "[13LMDTA9][1-9A-HJ-NP-Za-km-z]{25,34}", base58_address, has_case=True),
)
