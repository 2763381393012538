"""China, Hong Kong, Japan, South Korea, Taiwan.

Sources: GB 11643-1999 (resident identity number), GB 32100-2015 (unified social credit code), Hong Kong Immigration
Department, 行政手続における特定の個人を識別するための番号の利用等に関する法律施行令 and 総務省令 85 (My Number),
주민등록법 시행규칙 (RRN), 국세청 (BRN), 內政部 (Taiwan), GA 36-2018 (Chinese number plates). Read 2026-11.
"""

from __future__ import annotations

from ...domain.entities import EntityType
from ..validators.check_digits import is_date, weighted
from ..validators.presidio import kr_brn
from ..validators.scheme import Form, Needs, Number

_USCC = "0123456789ABCDEFGHJKLMNPQRTUWXY"
_TW_LETTERS = "ABCDEFGHJKLMNPQRSTUVXYWZIO"  # its place plus 10 is the letter's number


# GA 36-2018, appendix; the character in front of a plate.
_PROVINCES = "|".join("京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼使")


def cn_resident_id(text: str) -> bool:
    """Resident identity number: region, yyyymmdd, and a check character by ISO 7064 MOD 11-2."""
    is_birthday = text[6:8] in ("18", "19", "20") and is_date(text[8:14])
    check = (12 - sum(int(digit) * 2 ** (17 - place) for place, digit in enumerate(text[:17])) % 11) % 11
    return is_birthday and "0123456789X"[check] == text[17]


def cn_credit_code(text: str) -> bool:
    """Unified social credit code: powers of 3 by 31."""
    total = sum(_USCC.index(character) * pow(3, place, 31) for place, character in enumerate(text[:17]))
    return _USCC[-total % 31] == text[17]


def hk_id(text: str) -> bool:
    """Hong Kong identity card: letters count 10 to 35, a blank 36; the check digit by 11, A for 10."""
    padded = text.rjust(9)
    total = sum(
        (36 if character == " " else int(character, 36)) * weight
        for character, weight in zip(padded[:8], range(9, 1, -1), strict=True)
    )
    return "0A987654321"[total % 11] == padded[8]


def jp_my_number(digits: str) -> bool:
    """My Number: weights 2 to 7 and 2 to 6 from the right, by 11."""
    rest = weighted(digits, (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return (0 if rest <= 1 else 11 - rest) == int(digits[11])


def jp_corporate(digits: str) -> bool:
    """Corporate number: the first digit checks the other twelve, by 9."""
    return 9 - weighted(digits[:0:-1], (1, 2) * 6) % 9 == int(digits[0])


def kr_rrn(digits: str) -> bool:
    """Resident and foreigner number: yymmdd, a digit for century and sex; the rest is random since 2020-10."""
    return is_date(digits)


def tw_id(text: str) -> bool:
    """National and resident identity number: the letter counts as two digits, weights by 10."""
    number = _TW_LETTERS.index(text[0]) + 10
    return (number // 10 + number % 10 * 9 + weighted(text[1:], (8, 7, 6, 5, 4, 3, 2, 1, 1))) % 10 == 0


SCHEMES: tuple[Number | Form, ...] = (
    Form("CN_RESIDENT_ID", EntityType.NATIONAL_ID, "[1-8][0-9]{16}X", cn_resident_id),
    Number(
        "CN_RESIDENT_ID",
        EntityType.NATIONAL_ID,
        "999999999999999999|999999 99999999 9999|999999-99999999-9999|999999 9999 9999 9999",
        cn_resident_id,
    ),
    Form(
        "CN_CREDIT_CODE",
        EntityType.TAX_ID,
        "[159Y][1239][0-9]{6}[0-9A-HJ-NPQRTUWXY]{10}",
        cn_credit_code,
        has_case=True,
    ),
    Form(
        "CN_PLATE",
        EntityType.VEHICLE,
        rf"(?:{_PROVINCES})[A-Z](?:·|•|-| )?[0-9A-Z]{{0,2}}[0-9]{{3}}[0-9A-Z]{{0,3}}",
        None,
        near=("@plate",),
        has_case=True,
    ),
    Form("HK_ID", EntityType.NATIONAL_ID, r"[A-Z]{1,2}[0-9]{6}\([0-9A]\)", hk_id),
    Form("HK_ID", EntityType.NATIONAL_ID, "[A-Z]{1,2}[0-9]{6}[0-9A]", hk_id, Needs.WORD, ("hkid", "@identity")),
    Number(
        "JP_MY_NUMBER",
        EntityType.NATIONAL_ID,
        "9999 9999 9999|9999-9999-9999",
        jp_my_number,
        Needs.WORD,
        ("my_number* マイナンバー* 個人番号*", "@identity"),
    ),
    Number(
        "JP_CORPORATE",
        EntityType.TAX_ID,
        "9999999999999|9-9999-9999-9999",
        jp_corporate,
        Needs.WORD,
        ("法人番号* corporate_number*", "@tax"),
    ),
    Number(
        "KR_RRN",
        EntityType.NATIONAL_ID,
        "999999-9999999",
        kr_rrn,
        Needs.SHAPE,
        ("rrn 주민등록* 주민번호* 외국인등록*", "@identity"),
    ),
    Number("KR_BRN", EntityType.TAX_ID, "999-99-99999", kr_brn, Needs.SHAPE, ("brn 사업자*", "@tax")),
    Form(
        "TW_ID",
        EntityType.NATIONAL_ID,
        "[A-Z][1289][0-9]{8}",
        tw_id,
        Needs.WORD,
        ("身分證* 統一編號* 居留證*", "@identity"),
    ),
)
