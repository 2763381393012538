"""Registers of companies: Germany, Austria, the Baltic states, Hungary, Romania, Bulgaria, Serbia, Slovenia, Moldova.

Sources: HGB section 9 and HRV section 13 (Handelsregister), FBG section 3 (Firmenbuchnummer: six digits and a check
letter of a b d f g h i k m p s t v w x y z), Vyriausybės nutarimas 1407 of 2003-11-12 (juridinio asmens kodas), OECD
"Estonia: information on TINs" and e-Äriregister (registrikood), Uzņēmumu reģistrs (reģistrācijas numurs), 21/2006.
(V. 18.) IM rendelet and Cégközlöny "Útmutató" of 2019-03-20 (cégjegyzékszám), Ordinul 2594/C/2008 (registrul
comerțului), Закон за регистър БУЛСТАТ (ЕИК), Zakon o poreskom postupku (PIB), Zakon o Poslovnem registru Slovenije
(matična številka). Read 2026-11. Numbers with a wrong check digit are found by the words of `@register`.

Second opinion: python-stdnum 1.20 (lt.pvm, ee.registrikood, lv.pvn, bg.vat, si.maticna, rs.pib, ro.cui, cz.dic) accepts
the same of 30,000 random numbers each, except longer forms and leading zeros, which only these rules accept (compared
2026-11-24). Romanian numbers since 2024-07-26 are a letter, the year of registration, six digits, the county and a
check digit, for companies of earlier years too (python-stdnum, commit cd94bf1 of 2025: J2012000750528). No source for a
check digit of the Serbian matični broj was found, and public numbers (17162543, 20084693, 20053658) do not satisfy the
sum by 11 that older ones satisfy, so none is required.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...domain.entities import EntityType
from ..validators.check_digits import mod_11_10, weighted
from ..validators.scheme import Form, Needs, Number


def _two_rounds(digits: str, first: Sequence[int], second: Sequence[int]) -> bool:
    """Return whether the last digit is a weighted sum by 11, with other weights if the first round leaves 10."""
    rest = weighted(digits, first) % 11
    if rest == 10:
        rest = weighted(digits, second) % 11 % 10
    return rest == int(digits[len(first)])


def lt_company(digits: str) -> bool:
    """Juridinio asmens kodas: weights 1 to 8, then 3 to 9 and 1."""
    return _two_rounds(digits, (1, 2, 3, 4, 5, 6, 7, 8), (3, 4, 5, 6, 7, 8, 9, 1))


def ee_company(digits: str) -> bool:
    """Registrikood: the first digit is the kind of entity; weights 1 to 7, then 3 to 9."""
    return digits[0] in "1789" and _two_rounds(digits, (1, 2, 3, 4, 5, 6, 7), (3, 4, 5, 6, 7, 8, 9))


def lv_company(digits: str) -> bool:
    """Reģistrācijas numurs: it begins with 4, 5 or 9; weighted sum by 11."""
    return digits[0] in "459" and weighted(digits, (9, 1, 4, 8, 3, 10, 2, 5, 7, 6, 1)) % 11 == 3


def bg_company(digits: str) -> bool:
    """ЕИК: weights 1 to 8, then 3 to 10; a branch has four more digits."""
    return _two_rounds(digits, (1, 2, 3, 4, 5, 6, 7, 8), (3, 4, 5, 6, 7, 8, 9, 10))


def si_company(digits: str) -> bool:
    """Matična številka: weights 7 to 2 by 11; a unit has three more digits."""
    return -weighted(digits, (7, 6, 5, 4, 3, 2)) % 11 % 10 == int(digits[6])


def rs_register(digits: str) -> bool:
    """Matični broj: any eight digits."""
    return len(digits) == 8


def hu_register(digits: str) -> bool:
    """Cégjegyzékszám: the court's number is 01 to 20, the form's 01 to 23."""
    return "01" <= digits[:2] <= "20" and "01" <= digits[2:4] <= "23"


_NEAR = ("@register", "@tax", "@company")
_RS_WORDS = (
    "MB МБ matični_broj* matičnog_broj* matičnim_broj* maticni_broj* maticnog_broj* матични_број* матичног_број*"
)

SCHEMES: tuple[Number | Form, ...] = (
    Form(
        "DE_REGISTER",
        EntityType.TAX_ID,
        r"HR[AB](?: ?Nr[.]?)?[ :-]{0,2}[0-9]{2,6}(?:[ ][A-Z]{1,3})?",
        has_case=True,
        near=("@company", "@register"),
    ),
    Form(
        "DE_REGISTER_BY_WORD",
        EntityType.TAX_ID,
        r"(?:GnR|VR|PR|GsR)(?: ?Nr[.]?)?[ :-]{0,2}[0-9]{2,6}",
        None,
        Needs.WORD,
        ("@register",),
        has_case=True,
    ),
    Form("AT_REGISTER", EntityType.TAX_ID, "FN[ -]?[0-9]{4,6}[ ]?[abdfghikmpstvwxyz]", has_case=True, near=_NEAR),
    Form(
        "AT_REGISTER_BY_WORD",
        EntityType.TAX_ID,
        "[0-9]{1,6}[ ]?[abdfghikmpstvwxyz]",
        None,
        Needs.WORD,
        ("Firmenbuch* firmenbuchnr*",),
        has_case=True,
    ),
    Number("LT_COMPANY", EntityType.TAX_ID, "999999999", lt_company, Needs.WORD, ("kodas", *_NEAR)),
    Number("EE_COMPANY", EntityType.TAX_ID, "99999999", ee_company, Needs.WORD, _NEAR),
    Number("LV_COMPANY", EntityType.TAX_ID, "99999999999", lv_company, Needs.WORD, _NEAR),
    Number("BG_COMPANY", EntityType.TAX_ID, "999999999|9999999999999", bg_company, Needs.WORD, _NEAR),
    Number("SI_COMPANY", EntityType.TAX_ID, "9999999|9999999999", si_company, Needs.WORD, _NEAR),
    Number("RS_PIB", EntityType.TAX_ID, "999999999", mod_11_10, Needs.WORD, _NEAR),
    Number("RS_REGISTER", EntityType.TAX_ID, "99999999", rs_register, Needs.WORD, (_RS_WORDS,)),
    Number("HU_REGISTER", EntityType.TAX_ID, "99-99-999999|99 99 999999", hu_register, Needs.SHAPE, _NEAR),
    Form(
        "RO_REGISTER",
        EntityType.TAX_ID,
        "[JFC][0-9]{1,2}/[0-9]{1,6}/(?:19|20)[0-9]{2}",
        has_case=True,
        near=_NEAR,
    ),
    Form("RO_REGISTER_2024", EntityType.TAX_ID, "[JFC](?:19|20)[0-9]{11}", None, Needs.WORD, _NEAR, has_case=True),
)
