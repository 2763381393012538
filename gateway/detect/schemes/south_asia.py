"""India, Indonesia, Malaysia, the Philippines, Singapore, Thailand, Vietnam.

Sources: UIDAI (Aadhaar: Verhoeff), Income Tax Department (PAN), GSTN, RBI (IFSC), Dukcapil and Permendagri 72/2019
(NIK), DJP PER-04/PJ/2020 (NPWP), ICA (NRIC and FIN), ACRA (UEN), JPN (MyKad), BORA (Thai ID), Nghị định 137/2015
(CCCD), SSS. Read 2026-11.
"""

from __future__ import annotations

import re

from ...domain.entities import EntityType
from ..validators.check_digits import is_date, is_day
from ..validators.presidio import in_aadhaar, sg_uen, th_tnin
from ..validators.scheme import Form, Needs, Number

_GST = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NRIC_LETTERS = {"S": "JZIHGFEDCBA", "T": "JZIHGFEDCBA", "F": "XWUTRQPNMLK", "G": "XWUTRQPNMLK", "M": "XWUTRQPNJLK"}
_NRIC_OFFSETS = {"S": 0, "T": 4, "F": 0, "G": 4, "M": 3}
# Permendagri 72/2019: codes of the provinces.
_ID_PROVINCES = frozenset(
    map(
        str,
        (*range(11, 20), 21, *range(31, 37), *range(51, 54), *range(61, 66), *range(71, 77), 81, 82, *range(91, 98)),
    )
)
# Regencies count from 01 and cities from 71; districts from 01.
_ID_REGENCY = re.compile("(?:0[1-9]|[12][0-9]|30|7[1-9])(?:0[1-9]|[1-6][0-9])")


def in_gstin(text: str) -> bool:
    """GSTIN: a state, a PAN, and a check character over base 36. Presidio looks at the form alone."""
    total = 0
    for place, character in enumerate(text[:14]):
        product = _GST.index(character) * (1 + place % 2)
        total += product // 36 + product % 36
    return "01" <= text[:2] <= "38" and _GST[-total % 36] == text[14]


def id_nik(digits: str) -> bool:
    """NIK: province, regency, district, ddmmyy (day plus 40 for women), number; it has no check digit."""
    day = int(digits[6:8])
    is_place = digits[:2] in _ID_PROVINCES and _ID_REGENCY.match(digits, 2) is not None
    return is_place and is_day(int(digits[8:10]), day - 40 if day > 40 else day) and digits[12:] != "0000"


def id_npwp(digits: str) -> bool:
    """NPWP: its punctuation is all there is; the check digit's rule is not published."""
    return digits.strip("0") != ""


def sg_nric(text: str) -> bool:
    """NRIC and FIN: weighted sum by 11 chooses a letter from the series' own list."""
    total = sum(int(d) * w for d, w in zip(text[1:8], (2, 7, 6, 5, 4, 3, 2), strict=True)) + _NRIC_OFFSETS[text[0]]
    index = 10 - total % 11 if text[0] == "M" else total % 11
    return _NRIC_LETTERS[text[0]][index] == text[8]


def my_nric(digits: str) -> bool:
    """MyKad: yymmdd and place of birth; it has no check digit."""
    return is_date(digits) and digits[6:8] not in (
        "00",
        "17",
        "18",
        "19",
        "20",
        "69",
        "70",
        "73",
        "80",
        "81",
        "94",
        "95",
    )


def vn_cccd(digits: str) -> bool:
    """CCCD: province, century and sex, year; it has no check digit."""
    return "001" <= digits[:3] <= "096" and digits[3] in "0123"


def has_digits(digits: str) -> bool:
    """Return True; for schemes whose issuer publishes the form only."""
    return digits.strip("0") != ""


SCHEMES: tuple[Number | Form, ...] = (
    Number(
        "IN_AADHAAR",
        EntityType.NATIONAL_ID,
        "9999 9999 9999|9999-9999-9999",
        in_aadhaar,
        Needs.SHAPE,
        ("aadhaar* aadhar* uidai UID", "@identity"),
    ),
    Form("IN_PAN", EntityType.NATIONAL_ID, "[A-Z]{3}[ABCFGHJLPT][A-Z][0-9]{4}[A-Z]", near=("PAN", "@tax")),
    Form("IN_GSTIN", EntityType.TAX_ID, "[0-9]{2}[A-Z]{5}[0-9]{4}[A-Z][0-9A-Z]Z[0-9A-Z]", in_gstin),
    Form(
        "IN_VOTER", EntityType.NATIONAL_ID, "[A-Z]{3}[0-9]{7}", None, Needs.WORD, ("EPIC voter* election*", "@identity")
    ),
    Form("IN_IFSC", EntityType.ACCOUNT, "[A-Z]{4}0[A-Z0-9]{6}", None, Needs.WORD, ("ifsc", "@account")),
    Number(
        "ID_NIK",
        EntityType.NATIONAL_ID,
        "9999999999999999|999999 999999 9999|9999 9999 9999 9999",
        id_nik,
        near=("NIK KTP KK", "@identity"),
    ),
    Number("ID_NPWP", EntityType.TAX_ID, "99.999.999.9-999.999", id_npwp, Needs.SHAPE, ("npwp",)),
    Number(
        "MY_NRIC",
        EntityType.NATIONAL_ID,
        "999999-99-9999",
        my_nric,
        Needs.SHAPE,
        ("mykad IC nric kad_pengenalan*", "@identity"),
    ),
    Number("PH_UMID", EntityType.NATIONAL_ID, "9999-9999999-9", has_digits, Needs.SHAPE, ("umid crn",)),
    Number("PH_SSS", EntityType.NATIONAL_ID, "99-9999999-9", has_digits, Needs.SHAPE, ("sss",)),
    Number("PH_TIN", EntityType.TAX_ID, "999-999-999|999-999-999-999", has_digits, Needs.WORD, ("TIN",)),
    Form("SG_NRIC", EntityType.NATIONAL_ID, "[STFGM][0-9]{7}[A-Z]", sg_nric),
    Form(
        "SG_UEN",
        EntityType.TAX_ID,
        "(?:[0-9]{8,9}|[TSR][0-9]{2}[A-Z]{2}[0-9]{4})[A-Z]",
        sg_uen,
        Needs.WORD,
        ("uen", "@company", "@tax"),
    ),
    Number("TH_ID", EntityType.NATIONAL_ID, "9-9999-99999-99-9|9 9999 99999 99 9", th_tnin, Needs.SHAPE),
    Number("VN_CCCD", EntityType.NATIONAL_ID, "999999999999|999 999 999 999", vn_cccd, Needs.WORD),
)
