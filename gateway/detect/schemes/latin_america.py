"""Argentina, Brazil, Chile, Colombia, the Dominican Republic, Ecuador, Peru, Uruguay, Venezuela.

Sources: Receita Federal for CPF and CNPJ (its letters since 2026: Instrução Normativa 2229/2024), and the tax
administrations' own pages collected in the OECD's "Tax identification numbers", by country. Read 2026-11.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...domain.entities import EntityType
from ..validators.check_digits import luhn, weighted
from ..validators.scheme import Form, Needs, Number

_CNPJ_WEIGHTS = (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)
_RIF = {"V": 4, "E": 8, "J": 12, "P": 16, "G": 20}


def br_cpf(digits: str) -> bool:
    """CPF: two check digits by 11."""
    return len(set(digits)) > 1 and all(
        weighted(digits[:length], range(length + 1, 1, -1)) * 10 % 11 % 10 == int(digits[length]) for length in (9, 10)
    )


def br_cnpj(text: str) -> bool:
    """CNPJ: two check digits by 11; letters count by their ASCII code less 48."""
    values = [ord(character) - 48 for character in text]
    return any(values) and all(
        _check_by_11(values[:length], _CNPJ_WEIGHTS[-length:]) == values[length] for length in (12, 13)
    )


def br_pis(digits: str) -> bool:
    """PIS, PASEP, NIT: weighted sum by 11."""
    return digits.strip("0") != "" and _check_by_11(list(map(int, digits[:10])), (3, 2, 9, 8, 7, 6, 5, 4, 3, 2)) == int(
        digits[10]
    )


def br_cnh(digits: str) -> bool:
    """CNH, the driving licence: two check digits by 11 (Contran)."""
    first = weighted(digits, range(9, 0, -1)) % 11
    second = weighted(digits, range(1, 10)) % 11
    short = 2 if first >= 10 else 0
    second = second - short if second >= short else second - short + 11
    return digits[9:] == f"{0 if first >= 10 else first}{0 if second >= 10 else second}"


def ar_cuit(digits: str) -> bool:
    """CUIT and CUIL: the kind of person in front, weighted sum by 11 (AFIP)."""
    rest = 11 - weighted(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    is_kind = digits[:2] in ("20", "23", "24", "25", "26", "27", "30", "33", "34")
    return is_kind and rest != 10 and rest % 11 == int(digits[10])


def ar_cbu(digits: str) -> bool:
    """CBU: a check digit for the bank, one for the account (BCRA)."""
    return digits.strip("0") != "" and all(
        -weighted(part[:-1], weights) % 10 == int(part[-1])
        for part, weights in ((digits[:8], (7, 1, 3, 9, 7, 1, 3)), (digits[8:], (3, 9, 7, 1) * 3 + (3,)))
    )


def cl_rut(text: str) -> bool:
    """RUT: weights 2 to 7 from the right, by 11; K stands for 10."""
    rest = -weighted(text[-2::-1], (2, 3, 4, 5, 6, 7, 2, 3)) % 11
    return "0123456789K"[rest] == text[-1]


def co_nit(digits: str) -> bool:
    """NIT: primes as weights, by 11 (DIAN)."""
    rest = weighted(digits[-2::-1], (3, 7, 13, 17, 19, 23, 29, 37, 41)) % 11
    return (rest if rest < 2 else 11 - rest) == int(digits[-1])


def ec_cedula(digits: str) -> bool:
    """Cédula: province, a third digit below 6, Luhn (Registro Civil)."""
    return ("01" <= digits[:2] <= "24" or digits[:2] == "30") and digits[2] < "6" and luhn(digits)


def pe_ruc(digits: str) -> bool:
    """RUC: the kind of person in front, weighted sum by 11 (SUNAT)."""
    check = (11 - weighted(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11) % 10
    return digits[:2] in ("10", "15", "16", "17", "20") and check == int(digits[10])


def uy_ci(digits: str) -> bool:
    """Cédula de identidad: weights 2 9 8 7 6 3 4, by 10 (DNIC)."""
    return -weighted(digits, (2, 9, 8, 7, 6, 3, 4)) % 10 == int(digits[7])


def ve_rif(text: str) -> bool:
    """RIF: the letter counts, weighted sum by 11 (SENIAT)."""
    rest = (_RIF[text[0]] + weighted(text[1:], (3, 2, 7, 6, 5, 4, 3, 2))) % 11
    return "00987654321"[rest] == text[9]


def _check_by_11(values: Sequence[int], weights: Sequence[int]) -> int:
    rest = sum(value * weight for value, weight in zip(values, weights, strict=True)) % 11
    return 0 if rest < 2 else 11 - rest


SCHEMES: tuple[Number | Form, ...] = (
    Number("AR_CUIT", EntityType.TAX_ID, "99-99999999-9", ar_cuit, Needs.SHAPE, ("cuit cuil", "@tax")),
    Number("AR_CBU", EntityType.ACCOUNT, "9999999999999999999999", ar_cbu, near=("@account",)),
    Number("BR_CPF", EntityType.NATIONAL_ID, "999.999.999-99|999999999-99", br_cpf, near=("cpf", "@identity")),
    Number("BR_CNPJ", EntityType.TAX_ID, "99.999.999/9999-99|99999999/9999-99", br_cnpj, near=("cnpj", "@tax")),
    Form("BR_CNPJ", EntityType.TAX_ID, r"[0-9A-Z]{2}\.[0-9A-Z]{3}\.[0-9A-Z]{3}/[0-9A-Z]{4}-[0-9]{2}", br_cnpj),
    Number("BR_PIS", EntityType.NATIONAL_ID, "999.99999.99-9", br_pis, Needs.SHAPE, ("PIS pasep NIT NIS",)),
    Number("BR_CNH", EntityType.DRIVING_LICENCE, "99999999999", br_cnh, Needs.WORD, ("@licence",)),
    Number("CL_RUT", EntityType.NATIONAL_ID, "99.999.999-9|9.999.999-9", cl_rut, Needs.SHAPE, ("RUT RUN rut",)),
    Form("CL_RUT", EntityType.NATIONAL_ID, r"[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-K", cl_rut, near=("RUT RUN rut",)),
    Form("CL_RUT", EntityType.NATIONAL_ID, "[0-9]{7,8}-?[0-9K]", cl_rut, Needs.WORD, ("RUT RUN rut",)),
    Number("CO_NIT", EntityType.TAX_ID, "999.999.999-9|999999999-9", co_nit, Needs.SHAPE, ("NIT",)),
    Number("DO_CEDULA", EntityType.NATIONAL_ID, "999-9999999-9", luhn, Needs.SHAPE),
    Number("EC_CEDULA", EntityType.NATIONAL_ID, "9999999999|999999999-9", ec_cedula, Needs.WORD),
    Number("PE_RUC", EntityType.TAX_ID, "99999999999", pe_ruc, Needs.WORD, ("RUC", "@tax")),
    Number("UY_CI", EntityType.NATIONAL_ID, "9.999.999-9|99999999", uy_ci, Needs.SHAPE, ("CI", "@identity")),
    Form("VE_RIF", EntityType.TAX_ID, "[VEJPG]-[0-9]{8}-?[0-9]", ve_rif, near=("RIF",)),
)
