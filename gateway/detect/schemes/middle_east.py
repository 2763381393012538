"""Egypt, Iran, Israel, Kuwait, Pakistan, Qatar, Saudi Arabia, Türkiye, the United Arab Emirates.

Sources: ICP (Emirates ID), FTA (TRN), Absher (Saudi ID and iqama: Luhn), ZATCA (VAT), PACI (Kuwaiti civil number),
Civil Status Organization of Egypt, NADRA (CNIC), Nüfus ve Vatandaşlık İşleri, Gelir İdaresi Başkanlığı (VKN), Israel's
Population Authority, Iran's National Organization for Civil Registration. Read 2026-11.
"""

from __future__ import annotations

from ...domain.entities import EntityType
from ..validators.check_digits import is_date, luhn, weighted
from ..validators.presidio import tr_id
from ..validators.scheme import Form, Needs, Number


def ae_emirates_id(digits: str) -> bool:
    """Emirates ID: 784, year of birth, number, Luhn."""
    return digits.startswith("784") and luhn(digits)


def ae_trn(digits: str) -> bool:
    """TRN: it begins with 100."""
    return digits.startswith("100")


def eg_national_id(digits: str) -> bool:
    """Egyptian national ID: century, yymmdd, governorate; its check digit is not published."""
    governorate = int(digits[7:9])
    return digits[0] in "23" and is_date(digits[1:7]) and (1 <= governorate <= 35 or governorate == 88)


def il_id(digits: str) -> bool:
    """Israeli ID: Luhn over nine digits."""
    return luhn(digits)


def ir_national_id(digits: str) -> bool:
    """Kod-e Melli: weighted sum by 11."""
    rest = weighted(digits, range(10, 1, -1)) % 11
    return len(set(digits)) > 1 and (rest if rest < 2 else 11 - rest) == int(digits[9])


def kw_civil_id(digits: str) -> bool:
    """Kuwaiti civil number: century, yymmdd, 11 less the weighted sum by 11."""
    check = 11 - weighted(digits, (2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)) % 11
    return digits[0] in "23" and is_date(digits[1:7]) and check == int(digits[11])


def pk_cnic(digits: str) -> bool:
    """CNIC: a province in front; it has no check digit."""
    return "1" <= digits[0] <= "8"


def qa_id(digits: str) -> bool:
    """Qatari ID: century, year, ISO 3166 number of the nationality; it has no check digit."""
    return digits[0] in "23"


def sa_id(digits: str) -> bool:
    """Saudi national ID (1) and iqama (2): Luhn."""
    return digits[0] in "12" and luhn(digits)


def sa_vat(digits: str) -> bool:
    """Saudi VAT number: it begins and ends with 3."""
    return digits[0] == "3" and digits[-1] == "3"


def tr_vkn(digits: str) -> bool:
    """VKN: powers of two by 9, a check digit by 10."""
    total = 0
    for place, digit in enumerate(map(int, digits[:9]), start=1):
        shifted = (digit + 10 - place) % 10
        total += 9 if shifted == 9 else shifted * 2 ** (10 - place) % 9
    return digits.strip("0") != "" and -total % 10 == int(digits[9])


SCHEMES: tuple[Number | Form, ...] = (
    Number("AE_EMIRATES_ID", EntityType.NATIONAL_ID, "999-9999-9999999-9", ae_emirates_id),
    Number("AE_TRN", EntityType.TAX_ID, "999999999999999|999-9999-9999-9999", ae_trn, Needs.WORD, ("trn", "@tax")),
    Number("EG_NATIONAL_ID", EntityType.NATIONAL_ID, "99999999999999", eg_national_id),
    Number("IL_ID", EntityType.NATIONAL_ID, "999999999|99999999-9", il_id, Needs.WORD, ("teudat_zehut", "@identity")),
    Number(
        "IR_NATIONAL_ID",
        EntityType.NATIONAL_ID,
        "9999999999|999-999999-9",
        ir_national_id,
        Needs.WORD,
        ("kod_melli", "@identity"),
    ),
    Number("KW_CIVIL_ID", EntityType.NATIONAL_ID, "999999999999", kw_civil_id),
    Number("PK_CNIC", EntityType.NATIONAL_ID, "99999-9999999-9", pk_cnic, Needs.SHAPE, ("cnic nicop", "@identity")),
    Number("QA_ID", EntityType.NATIONAL_ID, "99999999999", qa_id, Needs.WORD, ("qid qatar* قطر*", "@identity")),
    Number(
        "SA_ID", EntityType.NATIONAL_ID, "9999999999", sa_id, Needs.WORD, ("iqama* saudi* إقامة* *الهوية*", "@identity")
    ),
    Number("SA_VAT", EntityType.TAX_ID, "999999999999999", sa_vat, Needs.WORD, ("@tax",)),
    Number("TR_ID", EntityType.NATIONAL_ID, "99999999999|999 999 999 99", tr_id),
    Number("TR_VKN", EntityType.TAX_ID, "9999999999", tr_vkn, Needs.WORD, ("vkn vergi*", "@tax")),
)
