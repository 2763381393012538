"""Check digits of identifiers, as pure functions over the identifier's digits.

Each function takes the candidate as it was written, ignores separators, and says whether its check digits hold and
its fixed parts (such as a birth date) are possible. The source of each scheme stands in its docstring.
"""

from __future__ import annotations

from collections.abc import Sequence

_KZ_FIRST = range(1, 12)
_KZ_SECOND = (3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2)


def digits_of(text: str) -> list[int]:
    """The ASCII digits of `text`, in order."""
    return [ord(character) - 48 for character in text if "0" <= character <= "9"]


def luhn(text: str) -> bool:
    """ISO/IEC 7812-1 annex B: cards, Emirates ID, Saudi ID."""
    digits = digits_of(text)
    total = sum(digits[-1::-2]) + sum((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)[digit] for digit in digits[-2::-2])
    return len(set(digits)) > 1 and total % 10 == 0


def be_register(text: str) -> bool:
    """Belgian national register number: 97 less the rest by 97, with a 2 in front for births since 2000."""
    number = "".join(map(str, digits_of(text)))
    check = int(number[9:])
    return _is_month_day(int(number[2:4]) % 20, int(number[4:6])) and any(
        97 - int(prefix + number[:9]) % 97 == check for prefix in ("", "2")
    )


def br_cpf(text: str) -> bool:
    """Brazilian CPF: two check digits by 11 (Receita Federal)."""
    digits = digits_of(text)
    if len(set(digits)) == 1:
        return False
    return all(
        _weighted(digits[:length], range(length + 1, 1, -1)) * 10 % 11 % 10 == digits[length] for length in (9, 10)
    )


def ch_ahv(text: str) -> bool:
    """Swiss AHV number: EAN-13, beginning with 756."""
    digits = digits_of(text)
    return _weighted(digits, [1, 3] * 6 + [1]) % 10 == 0


def cz_birth_number(text: str) -> bool:
    """Czech and Slovak birth number of ten digits (since 1954): divisible by 11, with a possible birth date."""
    digits = digits_of(text)
    month = digits[2] * 10 + digits[3]
    is_date = _is_month_day(month % 50 if month % 50 <= 12 else month % 50 - 20, digits[4] * 10 + digits[5])
    return is_date and int("".join(map(str, digits))) % 11 == 0


def fr_nir(text: str) -> bool:
    """French NIR: 97 less the rest by 97; Corsica's 2A and 2B count as 19 and 18 (INSEE)."""
    compact = "".join(character for character in text.upper() if character.isalnum())
    number = compact[:13].replace("2A", "19").replace("2B", "18")
    return number.isdigit() and 97 - int(number) % 97 == int(compact[13:])


def id_nik(text: str) -> bool:
    """Indonesian NIK: province code and birth date (day plus 40 for women); it has no check digit."""
    digits = digits_of(text)
    province, day = digits[0] * 10 + digits[1], digits[6] * 10 + digits[7]
    return 11 <= province <= 96 and _is_month_day(digits[8] * 10 + digits[9], day - 40 if day > 40 else day)


def kz_iin(text: str) -> bool:
    """Kazakh IIN: birth date and a check digit by 11 with two rounds of weights."""
    digits = digits_of(text)
    if not _is_month_day(digits[2] * 10 + digits[3], digits[4] * 10 + digits[5]):
        return False
    rest = _weighted(digits, _KZ_FIRST) % 11
    if rest == 10:
        rest = _weighted(digits, _KZ_SECOND) % 11
    return rest < 10 and rest == digits[11]


def nl_bsn(text: str) -> bool:
    """Dutch BSN: the "11-proef" with a last weight of -1."""
    digits = digits_of(text)
    return sum(digits) > 0 and _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def no_birth_number(text: str) -> bool:
    """Norwegian fødselsnummer and D-number: two check digits by 11."""
    digits = digits_of(text)
    day = (digits[0] * 10 + digits[1]) % 40
    return (
        _is_month_day((digits[2] * 10 + digits[3]) % 40, day)
        and _weighted(digits, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1)) % 11 == 0
        and _weighted(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0
    )


def ro_cnp(text: str) -> bool:
    """Romanian CNP: birth date and a check digit by 11, where 10 counts as 1."""
    digits = digits_of(text)
    rest = _weighted(digits, (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11
    is_date = _is_month_day(digits[3] * 10 + digits[4], digits[5] * 10 + digits[6])
    return is_date and digits[12] == (1 if rest == 10 else rest)


def ru_inn(text: str) -> bool:
    """Russian INN: one check digit by 11 in ten digits (companies), two in twelve (persons)."""
    digits = digits_of(text)
    weights = (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)
    lengths = (9,) if len(digits) == 10 else (10, 11)
    return sum(digits) > 0 and all(
        _weighted(digits[:length], weights[-length:]) % 11 % 10 == digits[length] for length in lengths
    )


def ru_snils(text: str) -> bool:
    """Russian SNILS: weighted sum by 101, where 100 counts as 0."""
    digits = digits_of(text)
    check = _weighted(digits[:9], range(9, 0, -1)) % 101 % 100
    return sum(digits[:9]) > 0 and check == digits[9] * 10 + digits[10]


def sg_nric(text: str) -> bool:
    """Singapore NRIC and FIN: weighted sum by 11 chooses a letter from the series' own list."""
    code = text.upper()
    total = _weighted(digits_of(code), (2, 7, 6, 5, 4, 3, 2)) + {"T": 4, "G": 4, "M": 3}.get(code[0], 0)
    letters = {"S": "JZIHGFEDCBA", "T": "JZIHGFEDCBA", "F": "XWUTRQPNMLK", "G": "XWUTRQPNMLK", "M": "XWUTRQPNJLK"}
    index = 10 - total % 11 if code[0] == "M" else total % 11
    return letters[code[0]][index] == code[-1]


def _weighted(digits: Sequence[int], weights: Sequence[int]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def _is_month_day(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= 31
