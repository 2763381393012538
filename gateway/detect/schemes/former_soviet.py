"""Russia, Kazakhstan, and their neighbours: Belarus, Georgia, Kyrgyzstan, Moldova, Ukraine, Uzbekistan.

Sources: Федеральная налоговая служба, приказ ММВ-7-6/435@ (ИНН, ОГРН, КПП); ПФР, постановление 318п (СНИЛС); Банк
России, 383-П (счета, БИК); Республика Казахстан, закон 223-III (ИИН, БИН); ДПС України, наказ 779 (РНОКПП);
СТБ 2.109 (Belarus); O'zR PQ-5296 (PINFL). Read 2026-11.
"""

from __future__ import annotations

from ...domain.entities import EntityType
from ..validators.check_digits import is_date_backwards, is_day, weighted
from ..validators.scheme import Form, Needs, Number

_INN_WEIGHTS = (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)
_CURRENCIES = frozenset({"810", "840", "978", "156", "398", "826", "643"})  # of accounts; 810 is the rouble's there


def ru_inn(digits: str) -> bool:
    """ИНН: one check digit by 11 in ten digits (companies), two in twelve (persons)."""
    lengths = (9,) if len(digits) == 10 else (10, 11)
    return digits[:2] != "00" and all(
        weighted(digits[:length], _INN_WEIGHTS[-length:]) % 11 % 10 == int(digits[length]) for length in lengths
    )


def ru_snils(digits: str) -> bool:
    """СНИЛС: weighted sum by 101, where 100 counts as 0."""
    check = weighted(digits, range(9, 0, -1)) % 101 % 100
    return digits[:9].strip("0") != "" and check == int(digits[9:])


def ru_ogrn(digits: str) -> bool:
    """ОГРН and ОГРНИП: the rest by 11 or by 13, by 10."""
    first = "15" if len(digits) == 13 else "3"
    return digits[0] in first and int(digits[:-1]) % (len(digits) - 2) % 10 == int(digits[-1])


def ru_kpp(digits: str) -> bool:
    """КПП: tax office, reason, number; it has no check digit."""
    return "01" <= digits[:2] <= "99" and digits[4:6] != "00"


def ru_bik(digits: str) -> bool:
    """БИК of a Russian bank: it begins with 04."""
    return digits.startswith("04")


def ru_account(digits: str) -> bool:
    """Settlement and personal accounts: a balance account of the chart's part for clients, then the currency."""
    return digits[:2] in ("40", "42", "45", "30", "47") and digits[5:8] in _CURRENCIES


def ru_passport(digits: str) -> bool:
    """Passport and driving licence: region, year of the blank's print, number."""
    return digits[:2] != "00" and digits[4:] != "000000"


def kz_iin(digits: str) -> bool:
    """ИИН and БИН: a date (persons) or year, month and kind (companies), and a check digit by 11, two rounds."""
    month, fifth = int(digits[2:4]), digits[4]
    is_person = is_day(month, int(digits[4:6])) and digits[6] in "0123456"
    is_company = 1 <= month <= 12 and fifth in "456"
    rest = weighted(digits, range(1, 12)) % 11
    if rest == 10:
        rest = weighted(digits, (3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2)) % 11
    return (is_person or is_company) and rest < 10 and rest == int(digits[11])


def ua_rnokpp(digits: str) -> bool:
    """РНОКПП: weighted sum by 11, by 10; the first five digits are the birthday, counted from 1899-12-31."""
    check = weighted(digits, (-1, 5, 7, 9, 4, 6, 10, 5, 7)) % 11 % 10
    return digits[:5] != "00000" and check == int(digits[9])


def ua_edrpou(digits: str) -> bool:
    """ЄДРПОУ of companies: weighted sum by 11, two rounds; the weights depend on the number's range."""
    weights = (7, 1, 2, 3, 4, 5, 6) if "3" <= digits[0] < "6" else (1, 2, 3, 4, 5, 6, 7)
    rest = weighted(digits, weights) % 11
    if rest == 10:
        rest = weighted(digits, [weight + 2 for weight in weights]) % 11 % 10
    return rest == int(digits[7])


def by_personal(text: str) -> bool:
    """Belarusian personal number: sex and century, ddmmyy, region, and weights 7, 3, 1, by 10."""
    total = sum(int(c, 36) * w for c, w in zip(text, (7, 3, 1) * 5, strict=False))
    return is_date_backwards(text[1:7]) and total % 10 == int(text[13])


def uz_pinfl(digits: str) -> bool:
    """PINFL: sex and century, ddmmyy, district, and weights 7, 3, 1, by 10."""
    total = weighted(digits, (7, 3, 1, 7, 3, 1, 7, 3, 1, 7, 3, 1, 7)) % 10
    return "1" <= digits[0] <= "6" and is_date_backwards(digits[1:7]) and total == int(digits[13])


def kg_pin(digits: str) -> bool:
    """Kyrgyz PIN: sex and ddmmyyyy; it has no check digit that is published."""
    return digits[0] in "12" and is_day(int(digits[3:5]), int(digits[1:3])) and digits[5:7] in ("19", "20")


def md_idnp(digits: str) -> bool:
    """Moldovan IDNP: it begins with 2 or 09; weights 7, 3, 1, by 10."""
    return digits[0] in "02" and weighted(digits, (7, 3, 1) * 4) % 10 == int(digits[12])


def ge_personal(digits: str) -> bool:
    """Georgian personal number: eleven digits without a check digit."""
    return digits.strip("0") != ""


_RU_INN, _RU_KPP = "инн inn", "кпп kpp"

SCHEMES: tuple[Number | Form, ...] = (
    Form(
        "BY_PERSONAL",
        EntityType.NATIONAL_ID,
        "[1-6][0-9]{6}[ABCEHKM][0-9]{3}(?:PB|BA|BI)[0-9]",
        by_personal,
    ),
    Number("GE_PERSONAL", EntityType.NATIONAL_ID, "99999999999", ge_personal, Needs.WORD, ("პირადი*",)),
    Number("KG_PIN", EntityType.NATIONAL_ID, "99999999999999", kg_pin, near=("ПИН PIN инн", "@identity")),
    Number("KZ_IIN_BIN", EntityType.NATIONAL_ID, "999999999999|999999 999999|999 999 999 999", kz_iin),
    Number("MD_IDNP", EntityType.NATIONAL_ID, "9999999999999", md_idnp, Needs.WORD, ("idnp", "@identity")),
    Number("RU_INN", EntityType.NATIONAL_ID, "999999999999|9999 9999 9999", ru_inn, near=(_RU_INN, "@tax")),
    Number("RU_INN_COMPANY", EntityType.TAX_ID, "9999999999", ru_inn, Needs.WORD, (_RU_INN, _RU_KPP, "@tax")),
    Number(
        "RU_SNILS", EntityType.NATIONAL_ID, "999-999-999 99|999-999-999-99", ru_snils, near=("снилс snils", "@identity")
    ),
    Number(
        "RU_OGRN",
        EntityType.TAX_ID,
        "9999999999999|999999999999999",
        ru_ogrn,
        Needs.WORD,
        ("огрн огрнип ogrn", "@company"),
    ),
    Number("RU_KPP", EntityType.TAX_ID, "999999999", ru_kpp, Needs.WORD, (_RU_KPP,)),
    Number("RU_BIK", EntityType.ACCOUNT, "999999999", ru_bik, Needs.WORD, ("бик bik",)),
    Number("RU_ACCOUNT", EntityType.ACCOUNT, "99999999999999999999", ru_account, near=("@account",)),
    Number(
        "RU_PASSPORT",
        EntityType.PASSPORT,
        "9999 999999|99 99 999999|9999-999999",
        ru_passport,
        Needs.WORD,
        ("@passport",),
    ),
    Number(
        "RU_DRIVING_LICENCE",
        EntityType.DRIVING_LICENCE,
        "9999 999999|99 99 999999",
        ru_passport,
        Needs.WORD,
        ("@licence",),
    ),
    Number(
        "UA_RNOKPP", EntityType.NATIONAL_ID, "9999999999", ua_rnokpp, Needs.WORD, ("рнокпп іпн інн ипн", "@identity")
    ),
    Number("UA_EDRPOU", EntityType.TAX_ID, "99999999", ua_edrpou, Needs.WORD, ("єдрпоу едрпоу",)),
    Number("UZ_PINFL", EntityType.NATIONAL_ID, "99999999999999", uz_pinfl, near=("пинфл pinfl jshshir", "@identity")),
)
