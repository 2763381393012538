"""Identifiers that look the same everywhere: e-mail, card, IP address, IBAN.

IBANs have a finder of their own: Presidio's pattern runs on into the next words and then rejects the whole
("BE68539007547034 thank you" passes in clear, seen in 2.2.366). Ours walks the letters and digits and lets Presidio's
validator (ISO 13616 checksum, country format) judge each possible end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_interface

from presidio_analyzer.predefined_recognizers import CreditCardRecognizer, IbanRecognizer, IpRecognizer
from presidio_analyzer.predefined_recognizers.generic.iban_patterns import regex_per_country

from sovctl.gateway.detect.candidates import Anchor, Window
from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.detect.judge import Rule
from sovctl.gateway.detect.presidio import CheckedRecognizer, Pattern
from sovctl.gateway.kinds import Kind

# RFC 5322 dot-atom without the characters that in practice only separate ("mail=anna@...", quotes, slashes). Any
# top-level name counts: Presidio's own check drops internal ones such as anna@bank.internal, by a list it downloads.
_EMAIL = (
    r"(?<![\w.%+~-])[\w%+~&!#$*][\w.%+~&'!#$*-]{0,127}"
    r"@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+[^\W_][\w-]{0,61}[^\W_](?![\w-])"
)

# ISO/IEC 7812: 13 to 19 digits; issuers 2 to 6 (Mastercard has 2221-2720 since 2017, absent from Presidio's pattern).
_CARD = r"(?<!\d)(?:2[2-7]\d{2}|[3-6]\d{3})(?:[ -]?\d){9,15}(?!\d)"

_VERSION = re.compile(r"(?:\bversion|\bver\.?|\brelease|\bbuild|\bv)[\s:=]*\Z", re.IGNORECASE)

_IBAN_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?=[ -]?[A-Za-z0-9])")
_IBAN_SHORTEST, _IBAN_LONGEST = 15, 34  # ISO 13616: Norway's is the shortest, 34 the ceiling


def _address(text: str) -> str:
    return str(ip_interface(text).ip)


def _digits(text: str) -> str:
    return "".join(character for character in text if character.isdigit())


def generic_rules() -> list[Rule]:
    """Rules for EMAIL, CARD and IP; a fresh list."""
    return [
        Rule(Kind.EMAIL, CheckedRecognizer("EMAIL", [_EMAIL]), Anchor.AT, str.lower),
        Rule(
            Kind.CARD,
            CreditCardRecognizer(patterns=[Pattern("CARD", _CARD, 0.3)], name="CARD"),
            Anchor.DIGITS,
            _digits,
            min_digits=13,
        ),
        Rule(
            Kind.IP,
            IpRecognizer(patterns=[p for p in IpRecognizer.PATTERNS if p.name == "IPv4"], name="IPV4"),
            Anchor.DIGITS,
            _address,
            min_digits=4,
            unless=_VERSION,
        ),
        Rule(
            Kind.IP,
            IpRecognizer(patterns=[p for p in IpRecognizer.PATTERNS if p.name != "IPv4"], name="IPV6"),
            Anchor.COLONS,
            _address,
        ),
    ]


class IbanFinder:
    """Finds IBANs of every country in the registry, however they are grouped and in either case."""

    def __init__(self) -> None:
        # Without exact_match a valid beginning of a longer string would pass.
        self._validator = IbanRecognizer(exact_match=True)

    def find(self, text: str, window: Window) -> Iterator[Finding]:
        """IBANs that begin in `window`."""
        if window.digits < _IBAN_SHORTEST - 10:
            return
        for match in _IBAN_START.finditer(text, window.start, window.end):
            if match.group()[:2].upper() in regex_per_country:
                yield from self._at(text, match.start())

    def _at(self, text: str, start: int) -> Iterator[Finding]:
        compact, ends = _compact_from(text, start)
        for length in range(len(compact), _IBAN_SHORTEST - 1, -1):
            end = ends[length - 1]
            is_whole = end == len(text) or not text[end].isalnum()
            if is_whole and self._validator.validate_result(compact[:length]):
                yield Finding(start, end, Kind.IBAN, 1.0, compact[:length], "IBAN")
                return


def _compact_from(text: str, start: int) -> tuple[str, list[int]]:
    """Letters and digits from `start` without single separators, upper case, and where each of them ends."""
    characters: list[str] = []
    ends: list[int] = []
    for index in range(start, min(len(text), start + 2 * _IBAN_LONGEST)):
        character = text[index]
        if character.isascii() and character.isalnum():
            characters.append(character.upper())
            ends.append(index + 1)
            if len(characters) == _IBAN_LONGEST:
                break
        elif character not in " -" or not ends or ends[-1] != index:
            break
    return "".join(characters), ends
