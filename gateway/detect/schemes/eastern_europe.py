"""Bulgaria, Croatia, Czechia, Hungary, Poland, Romania, Slovakia, Slovenia, and the successors of Yugoslavia.

Sources: European Commission, "TIN algorithms, public functional specification" (DG TAXUD, v5, 2013) unless a line says
otherwise. Read 2026-11.
"""

from __future__ import annotations

from ...domain.entities import EntityType
from ..validators import presidio
from ..validators.check_digits import is_date, is_day, mod_11_10, weighted
from ..validators.scheme import Form, Needs, Number


def bg_egn(digits: str) -> bool:
    """EGN: yymmdd (month plus 20 or 40 for other centuries), and a weighted sum by 11, by 10 (GRAO)."""
    month = int(digits[2:4])
    is_birthday = month < 60 and is_day(month % 20, int(digits[4:6]))
    return is_birthday and weighted(digits, (2, 4, 8, 5, 10, 9, 7, 3, 6)) % 11 % 10 == int(digits[9])


def cz_birth_number(digits: str) -> bool:
    """Rodné číslo, also Slovak: divisible by 11 since 1954; month plus 50 for women, plus 20 when numbers ran out."""
    month = int(digits[2:4]) % 50
    is_birthday = is_day(month if month <= 12 else month - 20, int(digits[4:6]))
    return is_birthday and (int(digits) % 11 == 0 or (int(digits[:9]) % 11 == 10 and digits[9] == "0"))


def cz_company(digits: str) -> bool:
    """IČO, also Slovak: weighted sum by 11."""
    return (11 - weighted(digits, range(8, 1, -1)) % 11) % 10 == int(digits[7])


def hu_taj(digits: str) -> bool:
    """TAJ of the health insurance: weights 3 and 7, by 10 (NEAK)."""
    return digits.strip("0") != "" and weighted(digits, (3, 7) * 4) % 10 == int(digits[8])


def hu_tax_id(digits: str) -> bool:
    """Adóazonosító jel: begins with 8, weighted sum by 11."""
    return digits[0] == "8" and weighted(digits, range(1, 10)) % 11 == int(digits[9])


def hu_tax_number(digits: str) -> bool:
    """Adószám of companies: weights 9, 7, 3, 1, by 10; then the kind of tax and the county."""
    is_county = "02" <= digits[9:] <= "44" or digits[9:] == "51"
    check = -weighted(digits, (9, 7, 3, 1, 9, 7, 3)) % 10
    return is_county and digits[8] in "12345" and check == int(digits[7])


def pl_pesel(digits: str) -> bool:
    """PESEL: yymmdd with the century in the month, and a check digit by 10."""
    return is_day(int(digits[2:4]) % 20, int(digits[4:6])) and presidio.pl_pesel(digits)


def pl_nip(digits: str) -> bool:
    """NIP: weighted sum by 11."""
    return digits[0] != "0" and weighted(digits, (6, 5, 7, 2, 3, 4, 5, 6, 7)) % 11 == int(digits[9])


def pl_regon(digits: str) -> bool:
    """REGON: weighted sum by 11, by 10; the fourteen digits of a branch begin with the nine of its company."""
    check = weighted(digits, (8, 9, 2, 3, 4, 5, 6, 7)) % 11 % 10 == int(digits[8])
    if len(digits) == 9:
        return check
    return check and weighted(digits, (2, 4, 8, 5, 0, 9, 7, 3, 6, 1, 2, 4, 8)) % 11 % 10 == int(digits[13])


def pl_id_card(text: str) -> bool:
    """Dowód osobisty: weights 7, 3, 1 over all but the fourth character, which is the check digit."""
    total = sum(int(c, 36) * w for c, w in zip(text, (7, 3, 1, 0, 7, 3, 1, 7, 3), strict=True))
    return total % 10 == int(text[3])


def pl_account(digits: str) -> bool:
    """NRB: an IBAN without its PL (ISO 13616)."""
    return (int(digits[2:]) * 1_000_000 + 252100 + int(digits[:2])) % 97 == 1


def ro_cnp(digits: str) -> bool:
    """CNP: yymmdd, county, and a check digit by 11 where 10 counts as 1."""
    rest = weighted(digits, (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11
    return digits[0] != "0" and is_date(digits[1:7]) and digits[12] == ("1" if rest == 10 else str(rest))


def ro_cui(digits: str) -> bool:
    """CUI of companies: ten times the weighted sum by 11, by 10."""
    return weighted(digits[:-1].rjust(9, "0"), (7, 5, 3, 2, 1, 7, 5, 3, 2)) * 10 % 11 % 10 == int(digits[-1])


def si_tax_number(digits: str) -> bool:
    """Davčna številka: weighted sum by 11, where 10 counts as 0."""
    check = 11 - weighted(digits, range(8, 1, -1)) % 11
    return digits[0] != "0" and check < 11 and check % 10 == int(digits[7])


def emso(digits: str) -> bool:
    """EMŠO and JMBG: ddmmyyy, region, and a check digit by 11 (Official Gazette of Yugoslavia 58/76).

    A check digit of 10 is not issued in Croatia (Obrazac R-S, control algorithms), and is 0 elsewhere (python-stdnum
    1.20, ba.jmbg and si.emso, compared 2026-11-24).
    """
    check = 11 - weighted(digits, (7, 6, 5, 4, 3, 2) * 2) % 11
    is_birthday = digits[4] in "890" and is_day(int(digits[2:4]), int(digits[:2]))
    return is_birthday and check % 11 % 10 == int(digits[12])


SCHEMES: tuple[Number | Form, ...] = (
    Number("BG_EGN", EntityType.NATIONAL_ID, "9999999999", bg_egn),
    Number(
        "CZ_SK_BIRTH_NUMBER",
        EntityType.NATIONAL_ID,
        "999999/9999",
        cz_birth_number,
        Needs.SHAPE,
        ("rodn* RC", "@identity"),
    ),
    Number(
        "CZ_SK_COMPANY",
        EntityType.TAX_ID,
        "99999999|999 99 999",
        cz_company,
        Needs.WORD,
        ("IČO ičo ICO dič DIC IČ", "@register"),
    ),
    Number("EMSO_JMBG", EntityType.NATIONAL_ID, "9999999999999", emso),
    Number("HR_OIB", EntityType.NATIONAL_ID, "99999999999", mod_11_10, Needs.WORD, ("oib", "@tax", "@identity")),
    Number("HU_TAJ", EntityType.HEALTH_ID, "999 999 999|999-999-999", hu_taj, Needs.WORD, ("TAJ",)),
    Number("HU_TAX_ID", EntityType.NATIONAL_ID, "9999999999", hu_tax_id, Needs.WORD, ("adóazonosító* adó*", "@tax")),
    Number("HU_TAX_NUMBER", EntityType.TAX_ID, "99999999-9-99", hu_tax_number, Needs.SHAPE, ("@tax",)),
    Number("PL_PESEL", EntityType.NATIONAL_ID, "99999999999", pl_pesel),
    Number("PL_NIP", EntityType.TAX_ID, "999-999-99-99|999-99-99-999", pl_nip, Needs.SHAPE, ("nip", "@tax")),
    Number("PL_REGON", EntityType.TAX_ID, "999999999|99999999999999", pl_regon, Needs.WORD, ("regon",)),
    Form(
        "PL_ID_CARD",
        EntityType.NATIONAL_ID,
        "[A-Z]{3}[ ]?[0-9]{6}",
        pl_id_card,
        Needs.WORD,
        ("dowod* dowód*", "@identity"),
    ),
    Number("PL_ACCOUNT", EntityType.ACCOUNT, "99 9999 9999 9999 9999 9999 9999", pl_account, near=("@account",)),
    Number("RO_CNP", EntityType.NATIONAL_ID, "9999999999999", ro_cnp),
    Number(
        "RO_CUI",
        EntityType.TAX_ID,
        "9999999|99999999|999999999|9999999999",
        ro_cui,
        Needs.WORD,
        ("CUI cif", "@register"),
    ),
    Number("SI_TAX_NUMBER", EntityType.TAX_ID, "99999999", si_tax_number, Needs.WORD, ("davčna* davcna*", "@tax")),
)
