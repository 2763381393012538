"""Checksums that a site's recognizers name: `CHECKSUMS["luhn"]("K-4242 4242 4242 4242")` is True.

Those of ISO/IEC 7064:2003 have the names of the standard. Functions over digits ignore the letters of a match; the
others read letters and digits.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...settings.detection.recognizer import ChecksumName
from ..validators import check_digits
from ..validators.scheme import Check, compact

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_VALUES = {character: value for value, character in enumerate(_ALPHABET)}
_FEWEST = 3  # characters with the check digit; fewer pass too often


def _mod_11(digits: str) -> bool:
    """Weights 2 to 7 from the right, repeated; the check digit is 11 minus the rest, 11 counts as 0, 10 is not issued.

    Norwegian account numbers are an example (python-stdnum 2.1, stdnum.no.kontonr).
    """
    total = sum(int(digit) * (2 + place % 6) for place, digit in enumerate(reversed(digits[:-1])))
    return (11 - total % 11) % 11 == int(digits[-1])


def _mod_11_2(text: str) -> bool:
    """ISO/IEC 7064 MOD 11-2: digits, and a check character 0 to 9 or X."""
    check = "0123456789X".find(text[-1])
    if check < 0 or not text[:-1].isdigit():
        return False
    total = 0
    for digit in map(int, text[:-1]):
        total = (total + digit) * 2 % 11
    return (total + check) % 11 == 1


def _mod_37_36(text: str) -> bool:
    """ISO/IEC 7064 MOD 37,36: a hybrid system over letters and digits."""
    product = 36
    for character in text[:-1]:
        product = ((product + _VALUES[character]) % 36 or 36) * 2 % 37
    return (product + _VALUES[text[-1]]) % 36 == 1


def _of_digits(check: Check) -> Check:
    def checked(text: str) -> bool:
        digits = "".join(character for character in text if character.isascii() and character.isdigit())
        return len(digits) >= _FEWEST and check(digits)

    return checked


def _of_letters(check: Check) -> Check:
    def checked(text: str) -> bool:
        characters = compact(text)
        return len(characters) >= _FEWEST and characters.isascii() and check(characters)

    return checked


CHECKSUMS: Mapping[ChecksumName, Check] = {
    "luhn": _of_digits(check_digits.luhn),
    "verhoeff": _of_digits(check_digits.verhoeff),
    "mod-11": _of_digits(_mod_11),
    "mod-97-10": _of_letters(check_digits.mod_97_10),
    "mod-11-10": _of_digits(check_digits.mod_11_10),
    "mod-11-2": _of_letters(_mod_11_2),
    "mod-37-36": _of_letters(_mod_37_36),
}
"""Functions from a match to whether its check digits are valid, by the name in the settings."""
