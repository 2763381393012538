"""Cyprus, Greece, Italy, Malta, Portugal, Spain.

Sources: European Commission, "TIN algorithms, public functional specification" (DG TAXUD, v5, 2013) unless a line says
otherwise. Read 2026-11.
"""

from __future__ import annotations

from ...domain.entities import EntityType
from ..validators.check_digits import is_date_backwards, luhn, luhn_digit, weighted
from ..validators.presidio import es_nie, es_nif, it_fiscal_code, it_vat
from ..validators.scheme import Form, Needs, Number

_ODD_PLACES = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21)


def cy_tin(text: str) -> bool:
    """TIN: digits in odd places translated, in even places as they are; the sum by 26 chooses the letter."""
    total = sum(_ODD_PLACES[int(digit)] for digit in text[:8:2]) + sum(map(int, text[1:8:2]))
    return chr(65 + total % 26) == text[8]


def es_cif(text: str) -> bool:
    """CIF of companies: Luhn over seven digits gives a digit or the letter of its place in JABCDEFGHI."""
    check = luhn_digit(text[1:8])
    return text[8] in (check, "JABCDEFGHI"[int(check)])


def gr_afm(digits: str) -> bool:
    """AFM: powers of two, by 11, by 10."""
    return digits.strip("0") != "" and weighted(digits, (256, 128, 64, 32, 16, 8, 4, 2)) % 11 % 10 == int(digits[8])


def gr_amka(digits: str) -> bool:
    """AMKA: ddmmyy and Luhn (IDIKA)."""
    return is_date_backwards(digits) and luhn(digits)


def pt_nif(digits: str) -> bool:
    """NIF: weighted sum by 11.

    It begins with 1, 2, 3, 5, 6, 8, 9, 45, or 70 to 79 (estates and funds; Autoridade Tributária). python-stdnum 1.20,
    pt.nif, accepts any but 0 (compared 2026-11-24).
    """
    rest = weighted(digits, range(9, 1, -1)) % 11
    return (digits[0] in "12356789" or digits[:2] == "45") and (0 if rest < 2 else 11 - rest) == int(digits[8])


def pt_citizen_card(text: str) -> bool:
    """Cartão de cidadão: Luhn over base 36 (AMA, 2007)."""
    total = 0
    for place, character in enumerate(reversed(text)):
        value = int(character, 36) * (1 + place % 2)
        total += value - 9 if place % 2 and value > 9 else value
    return total % 10 == 0


def pt_niss(digits: str) -> bool:
    """NISS of the social security: 9 less the weighted sum by 10, weights the first primes backwards."""
    return digits[0] in "12" and 9 - weighted(digits, (29, 23, 19, 17, 13, 11, 7, 5, 3, 2)) % 10 == int(digits[10])


SCHEMES: tuple[Number | Form, ...] = (
    Form("CY_TIN", EntityType.NATIONAL_ID, "[0-59][0-9]{7}[A-Z]", cy_tin, near=("@tax", "@identity")),
    Form(
        "ES_NIF",
        EntityType.NATIONAL_ID,
        r"[0-9]{1,2}[. ]?[0-9]{3}[. ]?[0-9]{3}[- ]?[A-HJ-NP-TV-Z]",
        es_nif,
    ),
    Form("ES_NIE", EntityType.NATIONAL_ID, "[XYZ][- ]?[0-9]{7}[- ]?[A-HJ-NP-TV-Z]", es_nie),
    Form("ES_CIF", EntityType.TAX_ID, "[PQRSNW][- ]?[0-9]{7}[- ]?[A-J]", es_cif, near=("@tax",)),
    Form("ES_CIF", EntityType.TAX_ID, "[A-HJUV][- ]?[0-9]{7}[- ]?[0-9]", es_cif, Needs.WORD, ("@tax", "@company")),
    Number("GR_AFM", EntityType.TAX_ID, "999999999", gr_afm, Needs.WORD, ("αφμ afm", "@tax")),
    Number("GR_AMKA", EntityType.NATIONAL_ID, "99999999999", gr_amka),
    Form(
        "IT_FISCAL_CODE",
        EntityType.NATIONAL_ID,
        "[A-Z]{3}[ ]?[A-Z]{3}[ ]?[0-9L-V]{2}[A-EHLMPRST][0-9L-V]{2}[ ]?[A-Z][0-9L-V]{3}[ ]?[A-Z]",
        it_fiscal_code,
        near=("@tax", "@identity"),
    ),
    Number(
        "IT_VAT",
        EntityType.TAX_ID,
        "99999999999",
        it_vat,
        Needs.WORD,
        ("partita_iva* p_iva piva codice_fiscale",),
    ),
    Form("MT_ID", EntityType.NATIONAL_ID, "[0-9]{3,7}[MGAPLHBZ]", None, Needs.WORD, ("@identity", "@tax")),
    Number("PT_NIF", EntityType.NATIONAL_ID, "999 999 999", pt_nif, Needs.WORD, ("nif contribuinte* fiscal", "@tax")),
    Form("PT_CITIZEN_CARD", EntityType.NATIONAL_ID, "[0-9]{8}[ ]?[0-9][ ]?[A-Z][A-Z0-9][0-9]", pt_citizen_card),
    Number("PT_NISS", EntityType.NATIONAL_ID, "99999999999", pt_niss, Needs.WORD, ("niss segurança_social*",)),
)
