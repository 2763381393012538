"""Denmark, Estonia, Finland, Iceland, Latvia, Lithuania, Norway, Sweden.

Sources: European Commission, "TIN algorithms, public functional specification" (DG TAXUD, v5, 2013) for the members of
the Union; Skatteetaten and Þjóðskrá for Norway and Iceland. Read 2026-11.
"""

from __future__ import annotations

from ...domain.entities import EntityType
from ..validators import presidio
from ..validators.check_digits import is_date, is_date_backwards, is_day, luhn, weighted
from ..validators.scheme import Form, Needs, Number


def ee_lt_code(digits: str) -> bool:
    """Isikukood and asmens kodas: century, yymmdd, and a check digit by 11 with two rounds of weights."""
    rest = weighted(digits, (1, 2, 3, 4, 5, 6, 7, 8, 9, 1)) % 11
    if rest == 10:
        rest = weighted(digits, (3, 4, 5, 6, 7, 8, 9, 1, 2, 3)) % 11 % 10
    return "1" <= digits[0] <= "8" and is_date(digits[1:7]) and rest == int(digits[10])


def fi_hetu(text: str) -> bool:
    """Henkilötunnus: a remainder by 31 chooses the last character; it does not depend on the century's sign."""
    return is_date_backwards(text) and presidio.fi_hetu(f"{text[:6]}-{text[-4:]}")


def fi_business_id(digits: str) -> bool:
    """Y-tunnus: weighted sum by 11 (PRH)."""
    rest = weighted(digits, (7, 9, 10, 5, 8, 4, 2)) % 11
    return rest != 1 and (11 - rest) % 11 == int(digits[7])


def is_kennitala(digits: str) -> bool:
    """Kennitala: ddmmyy (day plus 40 for companies), two running digits, a check digit by 11, the century."""
    if digits[9] not in "890" or not is_day(int(digits[2:4]), int(digits[:2]) % 40):
        return False
    rest = weighted(digits, (3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return rest != 1 and (11 - rest) % 11 == int(digits[8])


def lv_code(digits: str) -> bool:
    """Personas kods until 2017: ddmmyy, and 1101 less the weighted sum, by 11."""
    if not is_date_backwards(digits):
        return False
    return (1101 - weighted(digits, (1, 6, 3, 7, 9, 10, 5, 8, 4, 2))) % 11 % 10 == int(digits[10])


def lv_new_code(digits: str) -> bool:
    """Personas kods since 2017: it begins with 32 and means nothing else."""
    return digits.startswith("32")


def no_birth_number(digits: str) -> bool:
    """Fødselsnummer and D-number (day plus 40; Tenor's test persons: month plus 40 or 80): two check digits by 11."""
    return (
        is_day(int(digits[2:4]) % 40, int(digits[:2]) % 40)
        and weighted(digits, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1)) % 11 == 0
        and weighted(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0
    )


def no_organisation(digits: str) -> bool:
    """Organisasjonsnummer: weighted sum by 11 (Brønnøysund)."""
    return digits[0] in "89" and weighted(digits, (3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def dk_cvr(digits: str) -> bool:
    """CVR number: weighted sum by 11 (Erhvervsstyrelsen)."""
    return weighted(digits, (2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def se_personnummer(digits: str) -> bool:
    """Personnummer and samordningsnummer (day plus 60): a date and Luhn (Skatteverket SKV 704)."""
    short = digits[-10:]
    has_century = len(digits) == 10 or digits[:2] in ("18", "19", "20")
    return has_century and is_day(int(short[2:4]), int(short[4:6]) % 60) and presidio.se_personnummer(short)


def se_organisation(digits: str) -> bool:
    """Organisationsnummer: Luhn, and a third digit above 1 that tells it from a date."""
    return digits[2] >= "2" and luhn(digits)


SCHEMES: tuple[Number | Form, ...] = (
    # It has had no check digit since 2007 (CPR-kontoret): a date with its hyphen, or a word.
    Number(
        "DK_CPR",
        EntityType.NATIONAL_ID,
        "999999-9999",
        is_date_backwards,
        Needs.SHAPE,
        ("cpr* personnummer*", "@identity"),
    ),
    Number("DK_CVR", EntityType.TAX_ID, "99999999|99 99 99 99", dk_cvr, Needs.WORD, ("cvr se_nr se_nummer*",)),
    Number("EE_LT_PERSONAL_CODE", EntityType.NATIONAL_ID, "99999999999", ee_lt_code),
    Form("FI_HETU", EntityType.NATIONAL_ID, "[0-9]{6}[-+A-FU-Y][0-9]{3}[0-9A-FHJ-NPR-Y]", fi_hetu),
    Number("FI_BUSINESS_ID", EntityType.TAX_ID, "9999999-9", fi_business_id, Needs.WORD, ("@tax", "@company")),
    Number("IS_KENNITALA", EntityType.NATIONAL_ID, "999999-9999", is_kennitala, near=("kennitala* KT", "@identity")),
    Number("LV_PERSONAS_KODS", EntityType.NATIONAL_ID, "999999-99999", lv_code),
    Number("LV_PERSONAS_KODS_2017", EntityType.NATIONAL_ID, "999999-99999", lv_new_code, Needs.SHAPE),
    Number("NO_BIRTH_NUMBER", EntityType.NATIONAL_ID, "999999 99999", no_birth_number),
    Number(
        "NO_ORGANISATION",
        EntityType.TAX_ID,
        "999 999 999",
        no_organisation,
        Needs.WORD,
        ("orgnr org_nr organisasjon* MVA",),
    ),
    Number("SE_PERSONNUMMER", EntityType.NATIONAL_ID, "999999-9999|99999999-9999", se_personnummer),
    Number(
        "SE_ORGANISATION",
        EntityType.TAX_ID,
        "999999-9999",
        se_organisation,
        Needs.WORD,
        ("orgnr org_nr organisationsnummer*",),
    ),
)
