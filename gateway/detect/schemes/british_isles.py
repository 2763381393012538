"""The United Kingdom.

Sources: NHS Data Dictionary, HMRC NIM39110 (national insurance numbers), HMRC "Specification for UTR", DVLA INF45/1 and
INF104 (number plates). Read 2026-11.
"""

from __future__ import annotations

from ...domain.entities import EntityType
from ..validators.check_digits import is_date_backwards, weighted
from ..validators.presidio import uk_nhs
from ..validators.scheme import Form, Needs, Number

_NEVER_ISSUED = frozenset({"BG", "GB", "NK", "KN", "TN", "NT", "ZZ"})


def nino(text: str) -> bool:
    """National insurance number: some beginnings are never issued."""
    return text[:2] not in _NEVER_ISSUED


def utr(digits: str) -> bool:
    """Unique taxpayer reference: the first digit checks the other nine."""
    return "21987654321"[weighted(digits[1:], (6, 7, 8, 9, 10, 5, 4, 3, 2)) % 11] == digits[0]


def chi(digits: str) -> bool:
    """Scotland's community health index: ddmmyy and the check digit of NHS numbers."""
    return is_date_backwards(digits) and weighted(digits, (*range(10, 1, -1), 1)) % 11 == 0


def driving_licence(text: str) -> bool:
    """Driver number: five letters of the surname filled up with 9, and a birth date (month plus 50 for women)."""
    letters = text[:5].rstrip("9")
    return letters.isalpha() and 1 <= int(text[6:8]) % 50 <= 12 and 1 <= int(text[8:10]) <= 31


SCHEMES: tuple[Number | Form, ...] = (
    Number("UK_NHS", EntityType.HEALTH_ID, "999 999 9999|999-999-9999", uk_nhs, Needs.WORD, ("@health",)),
    Number("UK_CHI", EntityType.HEALTH_ID, "999 999 9999|999999 9999", chi, Needs.WORD, ("CHI", "@health")),
    Form(
        "UK_NINO",
        EntityType.NATIONAL_ID,
        "[ABCEGHJ-PRSTW-Z][ABCEGHJ-NPRSTW-Z][ -]?[0-9]{2}[ -]?[0-9]{2}[ -]?[0-9]{2}[ -]?[A-D]",
        nino,
        near=("NINO NI national_insurance*", "@identity"),
    ),
    Number(
        "UK_UTR",
        EntityType.TAX_ID,
        "99999 99999",
        utr,
        Needs.WORD,
        ("utr unique_taxpayer* tax_reference* self_assessment",),
    ),
    Form(
        "UK_DRIVING_LICENCE",
        EntityType.DRIVING_LICENCE,
        "[A-Z][A-Z9]{4}[0-9][0156][0-9][0-3][0-9]{2}[A-Z][A-Z9][A-Z0-9][A-Z]{2}",
        driving_licence,
        near=("@licence",),
    ),
    Form(
        "UK_PLATE",
        EntityType.VEHICLE,
        "[A-HJ-PR-Y]{2}[0-9]{2} ?[A-HJ-PR-Z]{3}",
        None,
        Needs.WORD,
        ("registration* reg", "@plate", "@vehicle"),
        has_case=True,
    ),
)
