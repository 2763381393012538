"""Check digits that many schemes share, as pure functions over digits.

    luhn("4111111111111111")                                       # True
    weighted("943476591", (10, 9, 8, 7, 6, 5, 4, 3, 2)) % 11       # 2: the NHS number's check digit is 11 - 2
    is_date("850730")                                              # True: a possible yymmdd

Each function takes an identifier without separators and returns whether its check digits are valid. The modules of the
regions contain the schemes of each country and their sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

_VALUES = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED = bytes.maketrans(bytes(range(10)), bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))
# Verhoeff 1969, "Error detecting decimal codes": multiplication of the dihedral group D5, and its permutations.
_D5 = tuple(
    tuple((a + b) % 5 + 5 * (b >= 5) if a < 5 else (a - b) % 5 + 5 * (b < 5) for b in range(10)) for a in range(10)
)
_PERMUTED = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    (1, 5, 7, 6, 2, 8, 3, 0, 9, 4),
    (5, 8, 0, 3, 7, 9, 6, 1, 4, 2),
    (8, 9, 1, 6, 0, 4, 3, 5, 2, 7),
    (9, 4, 5, 3, 1, 2, 6, 8, 7, 0),
    (4, 2, 8, 6, 5, 7, 3, 9, 0, 1),
    (2, 7, 9, 3, 8, 0, 6, 4, 1, 5),
    (7, 0, 4, 6, 9, 1, 3, 2, 5, 8),
)
_LETTER_VALUES = {character: str(value) for value, character in enumerate("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")}
_DAYS = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def weighted(digits: str, weights: Sequence[int]) -> int:
    """Return the sum of the digits times their weights, up to the shorter of the two."""
    return sum(map(mul, digits.encode().translate(_VALUES), weights))


def luhn(digits: str) -> bool:
    """ISO/IEC 7812-1 annex B; all zeros never count."""
    return luhn_digit(digits[:-1]) == digits[-1:] and digits.count("0") < len(digits)


def luhn_digit(digits: str) -> str:
    """Return the check digit that follows these digits."""
    values = digits.encode().translate(_VALUES)
    return str(-(sum(values[-2::-2]) + sum(values[-1::-2].translate(_DOUBLED))) % 10)


def verhoeff(digits: str) -> bool:
    """Verhoeff's check digit at the end."""
    check = 0
    for place, digit in enumerate(map(int, reversed(digits))):
        check = _D5[check][_PERMUTED[place % 8][digit]]
    return check == 0


def mod_11_10(digits: str) -> bool:
    """ISO/IEC 7064 MOD 11,10: one check digit at the end."""
    product = 10
    for digit in map(int, digits[:-1]):
        product = ((digit + product) % 10 or 10) * 2 % 11
    return (product + int(digits[-1])) % 10 == 1


def mod_97_10(text: str) -> bool:
    """ISO/IEC 7064 MOD 97-10, as IBANs have it: letters count 10 to 35, the whole leaves 1."""
    return int("".join(map(_LETTER_VALUES.__getitem__, text))) % 97 == 1


def is_day(month: int, day: int) -> bool:
    """Return whether some year has this day."""
    return 1 <= month <= 12 and 1 <= day <= _DAYS[month]


def is_date(yymmdd: str) -> bool:
    """Return whether six digits are a possible date, year first."""
    return is_day(int(yymmdd[2:4]), int(yymmdd[4:6]))


def is_date_backwards(ddmmyy: str) -> bool:
    """Return whether six digits are a possible date, day first."""
    return is_day(int(ddmmyy[2:4]), int(ddmmyy[:2]))
