"""Numbers of persons and companies in Europe, valid and drawn at random.

NUMBERS["PL_PESEL"](random.Random(1))     # "..."
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable
from random import Random

from bench.pii_sets.checkdigits import iso7064_11_10, luhn, weighted

Draw = Callable[[Random], str]


def digits(dice: Random, count: int, *, first: str = "0123456789") -> str:
    """Return `count` digits, the first of some."""
    return dice.choice(first) + "".join(dice.choices(string.digits, k=count - 1))


def born(dice: Random) -> tuple[int, int, int]:
    """Year, month, day of an adult."""
    return dice.randrange(1940, 2000), dice.randrange(1, 13), dice.randrange(1, 29)


def _until(dice: Random, draw: Callable[[Random], str | None]) -> str:
    """Return the first draw that the scheme allows; some remainders have no check digit."""
    while (found := draw(dice)) is None:
        pass
    return found


def _mod11(base: str, weights: list[int], *, ten: str | None = None) -> str | None:
    """`base` with the remainder of the weighted sum by 11; None where that is ten and the scheme has no sign for it."""
    check = weighted(base, weights) % 11
    return base + str(check) if check < 10 else (base + ten if ten is not None else None)


def _minus_mod11(base: str, weights: list[int], *, ten: str | None = None) -> str | None:
    """The same with 11 less the remainder, eleven being nought."""
    check = -weighted(base, weights) % 11
    return base + str(check) if check < 10 else (base + ten if ten is not None else None)


def de_tax_id(dice: Random) -> str:
    """Steuer-ID: ten digits, one of them twice, none three times (BZSt); ISO 7064."""
    nine = dice.sample(string.digits, 9)
    ten = [*nine, dice.choice(nine)]
    while ten[0] == "0" or any(a == b for a, b in itertools.pairwise(ten)):
        dice.shuffle(ten)
    base = "".join(ten)
    return base + iso7064_11_10(base)


def de_social(dice: Random) -> str:
    """Rentenversicherungsnummer: area, birth, initial, serial, check (VKVV, section 4)."""
    year, month, day = born(dice)
    letter, serial = dice.choice(string.ascii_uppercase), dice.randrange(100)
    base = f"{dice.choice((13, 15, 24, 38, 50, 65)):02}{day:02}{month:02}{year % 100:02}{letter}{serial:02}"
    plain = base[:8] + f"{ord(letter) - 64:02}" + base[9:]
    total = 0
    for digit, weight in zip(plain, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1), strict=True):
        total += sum(map(int, str(int(digit) * weight)))
    return base + str(total % 10)


def at_social(dice: Random) -> str:
    """Sozialversicherungsnummer: serial, check, birth date."""

    def draw(dice: Random) -> str | None:
        year, month, day = born(dice)
        serial, birth = str(dice.randrange(100, 1000)), f"{day:02}{month:02}{year % 100:02}"
        check = weighted(serial + birth, (3, 7, 9, 5, 8, 4, 2, 1, 6)) % 11
        return None if check == 10 else f"{serial}{check} {birth}"

    return _until(dice, draw)


def ch_ahv(dice: Random) -> str:
    """AHV number: EAN-13 with 756."""
    base = "756" + digits(dice, 9)
    total = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(base))
    number = base + str(-total % 10)
    return f"{number[:3]}.{number[3:7]}.{number[7:11]}.{number[11:]}"


def fr_nir(dice: Random) -> str:
    """NIR: sex, birth, department, commune, serial; 97 less the remainder."""
    year, month, _ = born(dice)
    base = f"{dice.choice('12')}{year % 100:02}{month:02}{dice.randrange(1, 96):02}{dice.randrange(1, 990):03}"
    base = base.replace("20", "75") if base[5:7] == "20" else base
    base = f"{base}{dice.randrange(1, 1000):03}"
    full = f"{base}{97 - int(base) % 97:02}"
    parts = (full[:1], full[1:3], full[3:5], full[5:7], full[7:10], full[10:13], full[13:])
    return dice.choice(("", " ")).join(parts)


def fr_siren(dice: Random) -> str:
    """SIREN: Luhn."""
    base = digits(dice, 8, first="34589")
    return base + luhn(base)


def es_dni(dice: Random) -> str:
    """DNI: remainder by 23 as a letter."""
    number = dice.randrange(1_000_000, 99_999_999)
    return f"{number:08}{dice.choice(('', '-'))}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def es_nie(dice: Random) -> str:
    """NIE: the first letter counts as 0, 1 or 2."""
    first, rest = dice.choice("XYZ"), digits(dice, 7)
    return f"{first}{rest}{'TRWAGMYFPDXBNJZSQVHLCKE'[int(str('XYZ'.index(first)) + rest) % 23]}"


def pl_pesel(dice: Random) -> str:
    """PESEL: birth date, serial, weights 1379."""
    year, month, day = born(dice)
    base = f"{year % 100:02}{month:02}{day:02}{digits(dice, 4)}"
    return base + str(-weighted(base, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10)


def pl_nip(dice: Random) -> str:
    """NIP: weights 6 5 7 2 3 4 5 6 7."""
    number = _until(dice, lambda d: _mod11(digits(d, 9, first="123456789"), [6, 5, 7, 2, 3, 4, 5, 6, 7]))
    return dice.choice((number, f"{number[:3]}-{number[3:6]}-{number[6:8]}-{number[8:]}"))


_CF_ODD = dict(
    zip(
        string.digits + string.ascii_uppercase,
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16,
         10, 22, 25, 24, 23],
        strict=True,
    )
)  # fmt: skip


def it_cf(dice: Random) -> str:
    """Codice fiscale, D.M. 23/12/1976."""
    letters = "".join(dice.choices("BCDFGLMNPRSTV", k=6))
    year, month, day = born(dice)
    day += dice.choice((0, 40))
    place = dice.choice(("H501", "F205", "L219", "D612", "A944"))
    base = f"{letters}{year % 100:02}{'ABCDEHLMPRST'[month - 1]}{day:02}{place}"
    total = 0
    for index, sign in enumerate(base):
        if index % 2 == 0:
            total += _CF_ODD[sign]
        else:
            total += int(sign) if sign.isdigit() else ord(sign) - 65
    return base + chr(65 + total % 26)


def it_vat(dice: Random) -> str:
    """Partita IVA: Luhn."""
    base = f"{digits(dice, 7, first='01234')}{dice.randrange(1, 101):03}"
    return base + luhn(base)


def nl_bsn(dice: Random) -> str:
    """BSN: the eleven test."""

    def draw(dice: Random) -> str | None:
        base = digits(dice, 8, first="12")
        check = weighted(base, (9, 8, 7, 6, 5, 4, 3, 2)) % 11
        return None if check == 10 else base + str(check)

    return _until(dice, draw)


def be_register(dice: Random) -> str:
    """Rijksregisternummer: 97 less the remainder."""
    year, month, day = born(dice)
    base = f"{year % 100:02}{month:02}{day:02}{dice.randrange(1, 998):03}"
    check = 97 - int(base) % 97
    return f"{base[:2]}.{base[2:4]}.{base[4:6]}-{base[6:]}.{check:02}"


def tr_tckn(dice: Random) -> str:
    """T.C. kimlik: two check digits."""
    base = digits(dice, 9, first="123456789")
    odd, even = sum(map(int, base[::2])), sum(map(int, base[1::2]))
    tenth = (odd * 7 - even) % 10
    return f"{base}{tenth}{(odd + even + tenth) % 10}"


def pt_nif(dice: Random) -> str:
    """NIF: weights 9 to 2."""
    base = digits(dice, 8, first="12")
    check = -weighted(base, range(9, 1, -1)) % 11
    return base + str(0 if check == 10 else check)


def ru_inn(dice: Random) -> str:
    """INN of a person: two check digits."""
    base = f"{dice.choice((77, 78, 50, 66, 23)):02}{digits(dice, 8)}"
    first = weighted(base, (7, 2, 4, 10, 3, 5, 9, 4, 6, 8)) % 11 % 10
    second = weighted(f"{base}{first}", (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)) % 11 % 10
    return f"{base}{first}{second}"


def ru_inn_company(dice: Random) -> str:
    """INN of a company: one check digit."""
    base = f"{dice.choice((77, 78, 50, 66, 23)):02}{digits(dice, 7)}"
    return base + str(weighted(base, (2, 4, 10, 3, 5, 9, 4, 6, 8)) % 11 % 10)


def ru_snils(dice: Random) -> str:
    """SNILS: remainder by 101, 100 and 101 being 00."""
    base = digits(dice, 9, first="123456789")
    check = weighted(base, range(9, 0, -1)) % 101 % 100
    return f"{base[:3]}-{base[3:6]}-{base[6:]} {check:02}"


def ru_ogrn(dice: Random) -> str:
    """OGRN: remainder by 11, then by 10."""
    base = f"1{dice.randrange(2, 24):02}77{digits(dice, 7)}"
    return base + str(int(base) % 11 % 10)


def uk_nhs(dice: Random) -> str:
    """NHS number: weights 10 to 2."""
    number = _until(dice, lambda d: _minus_mod11(digits(d, 9, first="4567"), list(range(10, 1, -1))))
    return f"{number[:3]} {number[3:6]} {number[6:]}"


def uk_nino(dice: Random) -> str:
    """National Insurance number; no check digit, letters from those in use."""
    number = digits(dice, 6)
    letters = dice.choice("ABCEGHJLMPRSTWXY") + dice.choice("ABCEGHJLMPRSTWX")
    if letters in ("GB", "BG", "NK", "KN", "TN", "NT", "ZZ"):
        letters = "AB"
    return f"{letters} {number[:2]} {number[2:4]} {number[4:]} {dice.choice('ABCD')}"


NUMBERS: dict[str, Draw] = {
    "DE_STEUER_ID": de_tax_id,
    "DE_SOZIALVERSICHERUNG": de_social,
    "AT_SOZIALVERSICHERUNG": at_social,
    "CH_AHV": ch_ahv,
    "FR_NIR": fr_nir,
    "FR_SIREN": fr_siren,
    "ES_DNI": es_dni,
    "ES_NIE": es_nie,
    "PL_PESEL": pl_pesel,
    "PL_NIP": pl_nip,
    "IT_CODICE_FISCALE": it_cf,
    "IT_PARTITA_IVA": it_vat,
    "NL_BSN": nl_bsn,
    "BE_RIJKSREGISTER": be_register,
    "TR_KIMLIK": tr_tckn,
    "PT_NIF": pt_nif,
    "RU_INN": ru_inn,
    "RU_INN_COMPANY": ru_inn_company,
    "RU_SNILS": ru_snils,
    "RU_OGRN": ru_ogrn,
    "UK_NHS": uk_nhs,
    "UK_NINO": uk_nino,
}
