"""Austria, Belgium, France, Germany, Ireland, Liechtenstein, Luxembourg, the Netherlands, Switzerland.

Sources: European Commission, "TIN algorithms, public functional specification" (DG TAXUD, v5, 2013) unless a line says
otherwise. Read 2026-11.
"""

from __future__ import annotations

from collections import Counter

from ...domain.entities import EntityType
from ..validators import presidio
from ..validators.check_digits import is_day, luhn, verhoeff, weighted
from ..validators.presidio import de_health_insurance, de_social_security
from ..validators.scheme import Form, Needs, Number


def at_social_security(digits: str) -> bool:
    """Sozialversicherungsnummer: running number, check digit by 11, ddmmyy (months 13 to 15 when dates ran out)."""
    month = int(digits[6:8])
    is_birthday = digits[0] != "0" and is_day(min(month, 12) if month <= 15 else 0, int(digits[4:6]))
    return is_birthday and weighted(digits, (3, 7, 9, 0, 5, 8, 4, 2, 1, 6)) % 11 == int(digits[3])


def at_tax_number(digits: str) -> bool:
    """Abgabenkontonummer: Luhn's sum from the left, taken from 80 (BMF)."""
    doubled = sum(sum(divmod(2 * int(digit), 10)) for digit in digits[1:8:2])
    return (80 - doubled - sum(map(int, digits[:8:2]))) % 10 == int(digits[8])


def be_register(digits: str) -> bool:
    """National and bis number: 97 less the rest by 97, with a 2 in front for births since 2000; bis adds 20 or 40."""
    check = int(digits[9:])
    return is_day(int(digits[2:4]) % 20, int(digits[4:6])) and any(
        97 - int(century + digits[:9]) % 97 == check for century in ("", "2")
    )


def be_enterprise(digits: str) -> bool:
    """Enterprise number: 97 less the rest by 97."""
    return digits[0] in "01" and 97 - int(digits[:8]) % 97 == int(digits[8:])


def be_id_card(digits: str) -> bool:
    """Identity card number: the rest by 97, where 0 counts as 97."""
    return (int(digits[:10]) % 97 or 97) == int(digits[10:])


def ch_ahv(digits: str) -> bool:
    """AHV number, also of Liechtenstein: EAN-13, beginning with 756 (ZAS)."""
    return digits.startswith("756") and weighted(digits, (1, 3) * 6 + (1,)) % 10 == 0


def ch_uid(text: str) -> bool:
    """Enterprise number UID: weighted sum by 11 (eCH-0097)."""
    rest = weighted(text[3:], (5, 4, 3, 2, 7, 6, 5, 4)) % 11
    return rest != 1 and (11 - rest) % 11 == int(text[11])


def de_tax_id(digits: str) -> bool:
    """Steuer-ID: ISO 7064 MOD 11,10; of its first ten digits one occurs two or three times, the others at most once."""
    counts = sorted(Counter(digits[:10]).values())
    return counts[-1] in (2, 3) and counts[-2] == 1 and presidio.de_tax_id(digits)


def de_tax_number(digits: str) -> bool:
    """Steuernummer: each state has its own check digit, so only its form tells."""
    return digits.strip("0") != ""


def de_document(text: str) -> bool:
    """Identity card and passport number with its check digit: weights 7, 3, 1 (ICAO Doc 9303 part 3, 4.9)."""
    return sum(int(c, 36) * w for c, w in zip(text[:9], (7, 3, 1) * 3, strict=True)) % 10 == int(text[9])


def fr_nir(text: str) -> bool:
    """NIR: 97 less the rest by 97; Corsica's 2A and 2B count as 19 and 18 (INSEE)."""
    if text[0] not in "123478":
        return False
    month = int(text[3:5])
    number = text[:13].replace("2A", "19").replace("2B", "18")
    return (1 <= month <= 12 or month >= 20) and 97 - int(number) % 97 == int(text[13:])


def fr_spi(digits: str) -> bool:
    """Numéro fiscal: the rest of ten digits by 511 in the last three."""
    return digits[0] in "0123" and int(digits[:10]) % 511 == int(digits[10:])


def ie_pps(text: str) -> bool:
    """PPS number: weighted sum by 23 chooses the letter; a second letter counts nine times, except the old W, T, X."""
    second = ord(text[8]) - 64 if len(text) == 9 and text[8] not in "WTX" else 0
    return "WABCDEFGHIJKLMNOPQRSTUV"[(weighted(text[:7], range(8, 1, -1)) + 9 * second) % 23] == text[7]


def lu_matricule(digits: str) -> bool:
    """Matricule: yyyymmdd, a running number, and two check digits over the same eleven: Luhn's and Verhoeff's."""
    is_birthday = digits[:2] in ("18", "19", "20") and is_day(int(digits[4:6]), int(digits[6:8]))
    return is_birthday and luhn(digits[:12]) and verhoeff(digits[:11] + digits[12])


def nl_bsn(digits: str) -> bool:
    """BSN: the "11-proef" with a last weight of -1 (RvIG)."""
    return digits.strip("0") != "" and weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


SCHEMES: tuple[Number | Form, ...] = (
    Number("AT_SOCIAL_SECURITY", EntityType.NATIONAL_ID, "9999 999999|9999-999999", at_social_security),
    Number("AT_TAX_NUMBER", EntityType.TAX_ID, "99-999/9999|99 999/9999", at_tax_number, Needs.SHAPE, ("@tax",)),
    Number("BE_REGISTER", EntityType.NATIONAL_ID, "99.99.99-999.99|999999-999-99|999999 999 99", be_register),
    Number("BE_ENTERPRISE", EntityType.TAX_ID, "9999.999.999", be_enterprise, Needs.SHAPE, ("@tax", "@company")),
    Number("BE_ID_CARD", EntityType.NATIONAL_ID, "999-9999999-99", be_id_card, Needs.SHAPE),
    Number("CH_AHV", EntityType.NATIONAL_ID, "999.9999.9999.99", ch_ahv),
    Form("CH_UID", EntityType.TAX_ID, r"CHE[-. ]?[0-9]{3}[. ]?[0-9]{3}[. ]?[0-9]{3}", ch_uid),
    # Its issuer's own punctuation; here, the check digit may be wrong.
    Form("CH_UID_FORM", EntityType.TAX_ID, r"CHE-[0-9]{3}\.[0-9]{3}\.[0-9]{3}", has_case=True, near=("@tax",)),
    Number("DE_TAX_ID", EntityType.NATIONAL_ID, "99 999 999 999", de_tax_id, near=("@tax", "@identity")),
    Form(
        "DE_SOCIAL_SECURITY",
        EntityType.NATIONAL_ID,
        "[0-9]{2}[ ]?[0-9]{6}[ ]?[A-Z][ ]?[0-9]{3}",
        de_social_security,
    ),
    Form(
        "DE_HEALTH_INSURANCE",
        EntityType.HEALTH_ID,
        "[A-Z][0-9]{9}",
        de_health_insurance,
        Needs.WORD,
        ("@health", "@identity"),
    ),
    Form(
        "DE_DOCUMENT",
        EntityType.NATIONAL_ID,
        "[CFGHJK-NPRTV-Z][0-9CFGHJK-NPRTV-Z]{8}[0-9]",
        de_document,
        Needs.WORD,
        ("@identity", "@passport"),
    ),
    Number(
        "DE_TAX_NUMBER",
        EntityType.TAX_ID,
        "99/999/99999|999/999/99999|999/9999/9999|999/9999/999|9999999999999|99 999 99999|99999/99999|9999999999"
        "|99999999999",
        de_tax_number,
        Needs.SHAPE,
        ("steuernummer* steuernr* steuer_nr* st_nr stnr",),
    ),
    Form(
        "FR_NIR",
        EntityType.NATIONAL_ID,
        "[1-478][ .]?[0-9]{2}[ .]?[0-9]{2}[ .]?2[AB][ .]?[0-9]{3}[ .]?[0-9]{3}[ .]?[0-9]{2}",
        fr_nir,
    ),
    Number(
        "FR_NIR",
        EntityType.NATIONAL_ID,
        "9 99 99 99 999 999 99|9999999999999 99|9.99.99.99.999.999.99|9 99 99 99 999 999-99",
        fr_nir,
    ),
    Number("FR_SPI", EntityType.NATIONAL_ID, "99 99 999 999 999", fr_spi, near=("@tax",)),
    Number("FR_SIREN", EntityType.TAX_ID, "999 999 999", luhn, Needs.WORD, ("siren rcs",)),
    Number("FR_SIRET", EntityType.TAX_ID, "999 999 999 99999", luhn, Needs.WORD, ("siret",)),
    Form("IE_PPS", EntityType.NATIONAL_ID, "[0-9]{7}[A-W][A-ITWX]?", ie_pps, near=("PPS ppsn", "@identity")),
    Number("LU_MATRICULE", EntityType.NATIONAL_ID, "9999999999999|9999 9999 999 99", lu_matricule),
    Number(
        "NL_BSN",
        EntityType.NATIONAL_ID,
        "999999999|9999.99.999|9999 99 999|999 999 999",
        nl_bsn,
        Needs.WORD,
        ("bsn burgerservice* sofinummer*", "@identity"),
    ),
)
