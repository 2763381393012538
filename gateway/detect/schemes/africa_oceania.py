"""Australia, Ghana, Kenya, New Zealand, Nigeria, South Africa.

Sources: ATO (TFN, ABN), ASIC (ACN), Services Australia (Medicare), Inland Revenue (IRD), Ministry of Health NZ (NHI),
NIMC and CBN (NIN, BVN), DHA (South African ID), KRA (PIN), NIA (Ghana Card). Read 2026-11.
"""

from __future__ import annotations

from ...domain.entities import EntityType
from ..validators.check_digits import is_date, luhn, weighted
from ..validators.presidio import au_abn, au_acn, au_tfn, ng_nin
from ..validators.scheme import Form, Needs, Number

_NHI = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def au_medicare(digits: str) -> bool:
    """Medicare card: the ninth digit checks the first eight; then the issue and, sometimes, the person."""
    return digits[0] in "23456" and weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9)) % 10 == int(digits[8])


def nz_ird(digits: str) -> bool:
    """IRD number: weighted sum by 11, a second round of weights when the first leaves 10."""
    padded = digits.rjust(9, "0")
    for weights in ((3, 2, 7, 6, 5, 4, 3, 2), (7, 4, 3, 2, 5, 2, 7, 6)):
        rest = -weighted(padded, weights) % 11
        if rest < 10:
            return rest == int(padded[8])
    return False


def nz_nhi(text: str) -> bool:
    """NHI number: letters count by their place, weighted sum by 11."""
    total = sum(
        (_NHI.index(c) + 1 if c.isalpha() else int(c)) * w for c, w in zip(text[:6], range(7, 1, -1), strict=True)
    )
    return total % 11 != 0 and (11 - total % 11) % 10 == int(text[6])


def ng_bvn(digits: str) -> bool:
    """BVN: it begins with 22."""
    return digits.startswith("22")


def za_id(digits: str) -> bool:
    """South African ID: yymmdd, sequence, citizenship, Luhn."""
    return is_date(digits) and digits[10] in "012" and luhn(digits)


SCHEMES: tuple[Number | Form, ...] = (
    Number(
        "AU_TFN",
        EntityType.NATIONAL_ID,
        "999 999 999|999-999-999",
        au_tfn,
        Needs.WORD,
        ("tfn tax_file*", "@tax"),
    ),
    Number("AU_ABN", EntityType.TAX_ID, "99 999 999 999", au_abn, Needs.SHAPE, ("abn", "@tax", "@company")),
    Number("AU_ACN", EntityType.TAX_ID, "999 999 999", au_acn, Needs.WORD, ("acn arbn", "@company")),
    Number(
        "AU_MEDICARE",
        EntityType.HEALTH_ID,
        "9999 99999 9|9999 99999 9 9|9999-99999-9",
        au_medicare,
        Needs.WORD,
        ("@health",),
    ),
    Form("GH_CARD", EntityType.NATIONAL_ID, "GHA-[0-9]{9}-[0-9]"),
    Form("KE_PIN", EntityType.TAX_ID, "[AP][0-9]{9}[A-Z]", None, Needs.WORD, ("KRA PIN", "@tax")),
    Number(
        "NZ_IRD",
        EntityType.TAX_ID,
        "99-999-999|999-999-999|99 999 999|999 999 999",
        nz_ird,
        Needs.WORD,
        ("IRD", "@tax"),
    ),
    Form("NZ_NHI", EntityType.HEALTH_ID, "[A-HJ-NP-Z]{3}[0-9]{4}", nz_nhi, Needs.WORD, ("nhi", "@health")),
    Number(
        "NG_NIN",
        EntityType.NATIONAL_ID,
        "99999999999|9999-9999-999",
        ng_nin,
        Needs.WORD,
        ("NIN", "@identity"),
    ),
    Number("NG_BVN", EntityType.ACCOUNT, "99999999999", ng_bvn, Needs.WORD, ("bvn",)),
    Number("ZA_ID", EntityType.NATIONAL_ID, "999999 9999 999|999999 9999 99 9|9999999999999", za_id),
)
