"""Recognizes IBANs of every country in the registry, with any grouping, in either case.

The structure of the country and the check digits decide (ISO 13616, MOD 97-10), so text after an IBAN does not matter.
Presidio's pattern continues into the next words and then rejects the match: it misses "BE68539007547034 thank you"
(2.2.366).
"""

from __future__ import annotations

import re
from itertools import combinations

from ...domain.entities import EntityType
from ..context.surroundings import TextContext
from ..findings.finding import Finding
from ..text.scanner import Pattern
from ..validators.check_digits import mod_97_10

# SWIFT, "IBAN registry", release 100 (2025-10), and below it the countries that use IBANs without being in it: what
# follows the check digits, as n digits, a letters, c either.
_STRUCTURES = dict(
    re.findall(
        r"([A-Z]{2}):(\w+)",
        """
        AD:8n12c AE:19n AL:8n16c AT:16n AZ:4a20c BA:16n BE:12n BG:4a6n8c BH:4a14c BI:23n BR:23n1a1c BY:4c4n16c CH:5n12c
        CR:18n CY:8n16c CZ:20n DE:18n DJ:23n DK:14n DO:4c20n EE:16n EG:25n ES:20n FI:14n FK:2a12n FO:14n FR:10n11c2n
        GB:4a14n GE:2a16n GI:4a15c GL:14n GR:7n16c GT:24c HN:4a20n HR:17n HU:24n IE:4a14n IL:19n IQ:4a15n IS:22n
        IT:1a10n12c JO:4a4n18c KW:4a22c KZ:3n13c LB:4n20c LC:4a24c LI:5n12c LT:16n LU:3n13c LV:4a13c LY:21n MC:10n11c2n
        MD:20c ME:18n MK:3n10c2n MN:16n MR:23n MT:4a5n18c MU:4a19n3a NI:4a20n NL:4a10n NO:11n OM:3n16c PK:4a16c PL:24n
        PS:4a21c PT:21n QA:4a21c RO:4a16c RS:18n RU:14n15c SA:2n18c SC:4a20n3a SD:14n SE:20n SI:15n SK:20n SM:1a10n12c
        SO:19n ST:21n SV:4a20n TL:19n TN:20n TR:6n16c UA:6n19c VA:18n VG:4a16n XK:16n YE:4a4n18c
        AO:21n BF:2c22n BJ:2c22n CF:23n CG:23n CI:2c22n CM:23n CV:21n DZ:22n GA:23n GQ:23n GW:2c19n IR:22n KM:23n
        MA:24n MG:23n ML:2c22n MZ:21n NE:2c22n SN:2c22n TD:23n TG:2c22n
        """,
    )
)
_GAP = r"[ \t\r\n./-]{0,4}"  # a blank line has four characters in CR LF
# Where only digits can be, also letters that OCR confuses with them.
_CLASSES = {"n": "[0-9OILBS|]", "a": "[A-Z]", "c": "[0-9A-Z]"}
_SLIP_LETTERS = "OILBS|"
_SLIPS = str.maketrans(_SLIP_LETTERS, "011851")
_MOST_UNSURE = 5  # letters: 32 checks


def _whole(structure: str) -> re.Pattern[str]:
    """Return a pattern for an IBAN of this structure with up to four separators anywhere in it."""
    rest = "".join(f"(?:{_GAP}{_CLASSES[c]}){{{count}}}" for count, c in re.findall("([0-9]+)([nac])", structure))
    two = f"{_GAP}{_CLASSES['n']}" * 2
    return re.compile(rf"[A-Z] ?[A-Z]{two}{rest}(?![0-9A-Z])", re.IGNORECASE | re.ASCII)


_WHOLE = {country: _whole(structure) for country, structure in _STRUCTURES.items()}
# Of any country, in the form in general use: test data has lengths that are not assigned to a country, and countries
# begin to use IBANs before this table knows. Letters in capitals, since so little else is asked.
_ANY = re.compile(r"[A-Z]{2}[0-9]{2}(?: ?[0-9A-Z]{4}){2,7}(?: ?[0-9A-Z]{1,3})?(?![0-9A-Za-z])")
_FEWEST_ANY, _FEWEST_DIGITS_ANY = 15, 11  # characters, and digits among them: Norway's have 15
_COUNTRY = re.compile(r"[A-Z] ?[A-Z]", re.IGNORECASE | re.ASCII)
_SEPARATORS = b" \t\r\n./-"
_SCORE = 1.0


class IbanRecognizer:
    """Finds IBANs."""

    rules = ("IBAN",)
    patterns = (
        Pattern(rf"[A-Z] ?[A-Z]{_GAP}[0-9]{_GAP}[0-9]{_GAP}[0-9A-Z]{_GAP}[0-9A-Z]"),
        Pattern(r"[A-Z]{2}(?:[0-9][OIlBS|]|[OIlBS|][0-9])[ -]?[0-9A-Za-z]{4}", has_case=True),
    )

    def at(self, text: str, start: int, _pattern: int, _around: TextContext) -> Finding | None:
        """Return the IBAN that begins at `start`."""
        country = _COUNTRY.match(text, start)
        if country is None or (start and _touches(text, start)):
            return None
        code = country.group().replace(" ", "").upper()
        whole = _WHOLE.get(code)
        written = match.group() if whole and (match := whole.match(text, start)) else ""
        value = _checked(written) or (_without_slips(written, _STRUCTURES[code]) if written else "")
        if not value and (match := _ANY.match(text, start)):
            written = match.group()
            while written and not (value := _checked(written)):
                written = written.rpartition(" ")[0]  # words in capitals may follow it
            if len(value) < _FEWEST_ANY or sum(map(str.isdigit, value)) < _FEWEST_DIGITS_ANY:
                return None
        return Finding(start, start + len(written), EntityType.IBAN, _SCORE, value, "IBAN") if value else None


def _checked(written: str) -> str:
    """Return the IBAN without separators; empty if its check digits are wrong."""
    value = written.encode().translate(None, _SEPARATORS).decode().upper()
    # ISO 7064: 98 less a rest of 0 to 96, so neither 00, 01 nor 99.
    is_right = len(value) > 4 and value[2:4] not in ("00", "01", "99") and mod_97_10(value[4:] + value[:4])
    return value if is_right else ""


def _without_slips(written: str, structure: str) -> str:
    """Return the IBAN with digits for the letters in their place; empty if its check digits are then wrong."""
    value = written.encode().translate(None, _SEPARATORS).decode().upper()
    kinds = "aann" + "".join(int(count) * kind for count, kind in re.findall("([0-9]+)([nac])", structure))
    signs = [sign.translate(_SLIPS) if kind == "n" else sign for sign, kind in zip(value, kinds, strict=True)]
    # Where letters are allowed too, each of them may be meant.
    unsure = [at for at, kind in enumerate(kinds) if kind == "c" and signs[at] in _SLIP_LETTERS][:_MOST_UNSURE]
    for count in range(len(unsure) + 1):
        for places in combinations(unsure, count):
            read = "".join(sign.translate(_SLIPS) if at in places else sign for at, sign in enumerate(signs))
            if checked := _checked(read):
                return checked
    return ""


def _touches(text: str, start: int) -> bool:
    """Return whether a word touches it; "IBANDE89..." does not count as a word."""
    before = text[start - 1]
    return before.isascii() and before.isalnum() and text[max(0, start - 4) : start].upper() != "IBAN"
