"""VAT numbers with their country in front: the European Union, Northern Ireland, Great Britain, Norway, Switzerland.

Source: European Commission, VIES "VAT identification number structure", and "VIES-VAT-GEN-BR, check routines" (2010).
The prefix in capitals and the check together are rare enough to be believed alone ("de 123 456 789" is Spanish for an
amount). Read 2026-11.
"""

from __future__ import annotations

from ...domain.entities import EntityType
from ..validators.check_digits import luhn, mod_11_10, weighted
from ..validators.scheme import Check, Form
from . import eastern_europe as east
from . import northern_europe as north
from . import southern_europe as south
from . import western_europe as west


def _at(text: str) -> bool:
    doubled = sum(sum(divmod(2 * int(digit), 10)) for digit in text[2:8:2])
    return (96 - doubled - sum(map(int, text[1:8:2]))) % 10 == int(text[8])


def _cy(text: str) -> bool:
    return text[:2] != "12" and south.cy_tin(text)


def _ee(digits: str) -> bool:
    return -weighted(digits, (3, 7, 1, 3, 7, 1, 3, 7)) % 10 == int(digits[8])


def _es(text: str) -> bool:
    if text[0].isdigit():
        return "TRWAGMYFPDXBNJZSQVHLCKE"[int(text[:8]) % 23] == text[8]
    if text[0] in "XYZ":
        return "TRWAGMYFPDXBNJZSQVHLCKE"[int(f"{'XYZ'.index(text[0])}{text[1:8]}") % 23] == text[8]
    return south.es_cif(text)


def _fr(text: str) -> bool:
    """Only the key of two digits can be checked; the one with letters has no published rule."""
    if not luhn(text[2:]):
        return False
    return not text[:2].isdigit() or (12 + 3 * (int(text[2:]) % 97)) % 97 == int(text[:2])


def _gb(digits: str) -> bool:
    total = weighted(digits, range(8, 1, -1)) + int(digits[7:9])
    return total % 97 == 0 or (total + 55) % 97 == 0


def _hu(digits: str) -> bool:
    return (10 - weighted(digits, (9, 7, 3, 1, 9, 7, 3)) % 10) % 10 == int(digits[7])


def _it(digits: str) -> bool:
    return luhn(digits)


def _lt(digits: str) -> bool:
    length = len(digits) - 1
    rest = sum(int(digit) * (1 + place % 9) for place, digit in enumerate(digits[:length])) % 11
    if rest == 10:
        rest = sum(int(digit) * (1 + (place + 2) % 9) for place, digit in enumerate(digits[:length])) % 11 % 10
    return rest == int(digits[-1])


def _lu(digits: str) -> bool:
    return int(digits[:6]) % 89 == int(digits[6:])


def _lv(digits: str) -> bool:
    if digits[0] <= "3":
        return True
    return weighted(digits, (9, 1, 4, 8, 3, 10, 2, 5, 7, 6, 1)) % 11 == 3


def _mt(digits: str) -> bool:
    return 37 - weighted(digits, (3, 4, 6, 7, 8, 9)) % 37 == int(digits[6:])


def _nl(text: str) -> bool:
    """The old rule (BSN or RSIN) or the one of 2020 (MOD 97-10 over the whole)."""
    whole = int("".join(str(int(character, 36)) for character in f"NL{text}"))
    return whole % 97 == 1 or west.nl_bsn(text[:9])


def _se(digits: str) -> bool:
    return digits[10:] != "00" and luhn(digits[:10])


def _sk(digits: str) -> bool:
    return digits[0] != "0" and int(digits) % 11 == 0


# Prefix, what follows it, and its check. Between prefix and number people put a space.
_NUMBERS: tuple[tuple[str, str, Check | None], ...] = (
    ("AT", "U[0-9]{8}", _at),
    ("BE", "[01][0-9]{3}[. ]?[0-9]{3}[. ]?[0-9]{3}", west.be_enterprise),
    ("BG", "[0-9]{9,10}", None),
    ("CY", "[0-9]{8}[A-Z]", _cy),
    ("CZ", "[0-9]{8,10}", None),
    ("DE", "[0-9]{3}[ ]?[0-9]{3}[ ]?[0-9]{3}", mod_11_10),
    ("DK", "[0-9]{2}[ ]?[0-9]{2}[ ]?[0-9]{2}[ ]?[0-9]{2}", north.dk_cvr),
    ("EE", "10[0-9]{7}", _ee),
    ("EL", "[0-9]{9}", south.gr_afm),
    ("ES", "[0-9A-Z][0-9]{7}[0-9A-Z]", _es),
    ("FI", "[0-9]{8}", north.fi_business_id),
    ("FR", "[0-9A-HJ-NP-Z]{2}[ ]?[0-9]{3}[ ]?[0-9]{3}[ ]?[0-9]{3}", _fr),
    ("GB", "[0-9]{3}[ ]?[0-9]{4}[ ]?[0-9]{2}", _gb),
    ("HR", "[0-9]{11}", mod_11_10),
    ("HU", "[0-9]{8}", _hu),
    ("IE", "[0-9]{7}[A-W][A-I]?", west.ie_pps),
    ("IT", "[0-9]{11}", _it),
    ("LT", "(?:[0-9]{12}|[0-9]{9})", _lt),
    ("LU", "[0-9]{8}", _lu),
    ("LV", "[0-9]{11}", _lv),
    ("MT", "[0-9]{8}", _mt),
    ("NL", "[0-9]{9}B[0-9]{2}", _nl),
    ("NO", "[0-9]{9}MVA", lambda text: north.no_organisation(text[:9])),
    ("PL", "[0-9]{10}", east.pl_nip),
    ("PT", "[0-9]{9}", south.pt_nif),
    ("RO", "[0-9]{6,10}", east.ro_cui),
    ("SE", "[0-9]{12}", _se),
    ("SI", "[0-9]{8}", east.si_tax_number),
    ("SK", "[0-9]{10}", _sk),
    ("XI", "[0-9]{9}", _gb),
)


def _behind(prefix: str, check: Check | None) -> Check | None:
    if check is None:
        return None
    return lambda text: check(text[len(prefix) :])


SCHEMES: tuple[Form, ...] = tuple(
    Form(
        f"{prefix}_VAT",
        EntityType.TAX_ID,
        f"{prefix}[ /-]?{number}",
        _behind(prefix, check),
        near=("@tax",),
        has_case=True,
    )
    for prefix, number, check in _NUMBERS
)
