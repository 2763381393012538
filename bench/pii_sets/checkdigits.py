"""Check digits as the schemes publish them; each takes the digits before and gives what completes them."""

from __future__ import annotations

from collections.abc import Sequence

_D = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_P = (
    "0123456789", "1576283094", "5803796142", "8916043527",
    "9453126870", "4286573901", "2793806415", "7046913258",
)  # fmt: skip
_INVERSE = "0432156789"


def weighted(digits: str, weights: Sequence[int]) -> int:
    """Sum of products."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def luhn(digits: str) -> str:
    """ISO/IEC 7812-1, annex B."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return str(-total % 10)


def iso7064_11_10(digits: str) -> str:
    """ISO/IEC 7064, MOD 11,10: German tax identifiers, Croatian OIB."""
    product = 10
    for digit in digits:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    return str((11 - product) % 10)


def verhoeff(digits: str) -> str:
    """Verhoeff 1969: Aadhaar."""
    check = 0
    for place, digit in enumerate(reversed(digits), start=1):
        check = int(_D[check][int(_P[place % 8][int(digit)])])
    return _INVERSE[check]


def mod97_pair(text: str) -> str:
    """ISO/IEC 7064, MOD 97-10, as IBAN uses it: country and `00` moved to the end."""
    number = "".join(str(int(character, 36)) for character in text)
    return f"{98 - int(number) % 97:02}"


def base58check(payload: bytes) -> str:
    """Bitcoin's address encoding."""
    import hashlib

    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    data = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    number, out = int.from_bytes(data, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        out = alphabet[rest] + out
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + out
