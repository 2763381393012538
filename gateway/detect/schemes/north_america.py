"""Canada, Mexico, the United States.

Sources: SSA "Social Security number randomization" (2011) and IRS Pub. 1915 and 4163 for SSN, ITIN and EIN, ABA routing
number policy, CMS "MBI format", ESDC for the SIN, CRA for the BN, SEGOB and SAT for CURP and RFC, Banxico for CLABE.
Read 2026-11.
"""

from __future__ import annotations

from ...domain.entities import EntityType
from ..validators.check_digits import is_date, luhn
from ..validators.presidio import ca_sin, us_dea, us_npi, us_routing
from ..validators.scheme import Form, Needs, Number

_ITIN_GROUPS = frozenset(map(str, (*range(50, 66), *range(70, 89), *range(90, 93), *range(94, 100))))
# IRS, "How EINs are assigned and valid EIN prefixes".
_NO_EIN = frozenset(
    {"00", "07", "08", "09", "17", "18", "19", "28", "29", "49", "69", "70", "78", "79", "89", "96", "97"}
)
_CURP = {character: value for value, character in enumerate("0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ")}
_RFC = {character: value for value, character in enumerate("0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ Ñ")}
_MBI_LETTER = "[AC-HJKMNP-RT-Y]"
_MBI_ANY = "[0-9AC-HJKMNP-RT-Y]"


def us_ssn(digits: str) -> bool:
    """SSN: no part of zeros, no area 666 or from 900 on. Presidio also refuses specimens such as 078-05-1120.

    Specimens count here, because people write them instead of real numbers.
    """
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def ca_business_number(text: str) -> bool:
    """Business number with its programme account: Luhn over the first nine digits."""
    return luhn(text[:9])


def us_itin(digits: str) -> bool:
    """ITIN: begins with 9, and only some groups are given out."""
    return digits[0] == "9" and digits[3:5] in _ITIN_GROUPS


def us_ein(digits: str) -> bool:
    """EIN: some prefixes are never given out."""
    return digits[:2] not in _NO_EIN


def mx_curp(text: str) -> bool:
    """CURP: a birth date and a check digit over base 37."""
    total = sum(_CURP[character] * weight for character, weight in zip(text, range(18, 1, -1), strict=False))
    return is_date(text[4:10]) and (10 - total % 10) % 10 == int(text[17])


def mx_rfc(text: str) -> bool:
    """RFC: letters, a date, and a check character by 11; a company's is one character shorter."""
    padded = text.rjust(13)
    total = sum(_RFC[character] * weight for character, weight in zip(padded, range(13, 1, -1), strict=False))
    return is_date(padded[4:10]) and "0123456789A0"[(11 - total % 11)] == padded[12]


def mx_clabe(digits: str) -> bool:
    """CLABE: weights 3, 7, 1 with each product by 10."""
    total = sum(int(digit) * weight % 10 for digit, weight in zip(digits[:17], (3, 7, 1) * 6, strict=False))
    return -total % 10 == int(digits[17])


SCHEMES: tuple[Number | Form, ...] = (
    Number(
        "CA_SIN",
        EntityType.NATIONAL_ID,
        "999-999-999|999 999 999",
        ca_sin,
        Needs.SHAPE,
        ("SIN social_insurance* NAS", "@identity"),
    ),
    Form("CA_BN", EntityType.TAX_ID, "[0-9]{9} ?R[CMPRTZ] ?00[0-9]{2}", ca_business_number, near=("@tax",)),
    Form(
        "MX_CURP",
        EntityType.NATIONAL_ID,
        "[A-Z]{4}[0-9]{6}[HMX][A-Z]{2}[B-DF-HJ-NP-TV-Z]{3}[A-Z0-9][0-9]",
        mx_curp,
    ),
    Form("MX_RFC", EntityType.NATIONAL_ID, "[A-Z&]{3,4}[0-9]{6}[A-Z0-9]{2}[0-9A]", mx_rfc, near=("@tax",)),
    Number(
        "MX_CLABE", EntityType.ACCOUNT, "999999999999999999|999 999 99999999999 9", mx_clabe, Needs.WORD, ("@account",)
    ),
    Number("MX_NSS", EntityType.NATIONAL_ID, "99999999999", luhn, Needs.WORD, ("NSS imss",)),
    Number(
        "US_SSN",
        EntityType.NATIONAL_ID,
        "999-99-9999|999 99 9999|999.99.9999",
        us_ssn,
        Needs.SHAPE,
        ("ssn social_security* taxpayer* SS",),
    ),
    Number("US_ITIN", EntityType.NATIONAL_ID, "999-99-9999|999 99 9999", us_itin, Needs.SHAPE, ("itin", "@tax")),
    Number(
        "US_EIN", EntityType.TAX_ID, "99-9999999", us_ein, Needs.WORD, ("EIN fein employer_id*", "@tax", "@company")
    ),
    Number("US_ROUTING", EntityType.ACCOUNT, "999999999|9999-9999-9", us_routing, Needs.WORD, ("@account",)),
    Number("US_NPI", EntityType.HEALTH_ID, "9999999999", us_npi, Needs.WORD, ("@health",)),
    Form(
        "US_MBI",
        EntityType.HEALTH_ID,
        f"[1-9]{_MBI_LETTER}{_MBI_ANY}[0-9]-?{_MBI_LETTER}{_MBI_ANY}[0-9]-?{_MBI_LETTER}{{2}}[0-9]{{2}}",
        near=("@health",),
    ),
    Form("US_DEA", EntityType.HEALTH_ID, "[A-HJ-MPRSTUX][A-Z9][0-9]{7}", us_dea, Needs.WORD, ("@health",)),
)
