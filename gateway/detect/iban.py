"""IBANs of every country in the registry, however they are grouped, in either case.

The length of the country and the check digits decide (ISO 13616, MOD 97-10), so what follows an IBAN never spoils it:
Presidio's pattern runs on into the next words and then rejects the whole ("BE68539007547034 thank you" passes in
clear, seen in 2.2.366).
"""

from __future__ import annotations

import re

from sovctl.gateway.detect.checkdigits import mod_97_10
from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.detect.recognizer import AroundPlace
from sovctl.gateway.detect.scan import Pattern
from sovctl.gateway.kinds import Kind

# SWIFT, "IBAN registry", release 100 (2025-10), and the countries that use IBANs without being in it.
_LENGTHS = {
    country: int(length)
    for country, length in re.findall(
        r"([A-Z]{2})([0-9]{2})",
        """
        AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29
        ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20
        LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29
        PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
        YE30
        AO25 BF28 BJ28 CF27 CG27 CI28 CM27 CV25 DZ26 GA27 GQ27 GW25 IR26 KM27 MA28 MG27 ML28 MZ25 NE28 SN28 TD27 TG28
        """,
    )
}
_LONGEST = max(_LENGTHS.values())
_GAP = r"[ \t\r\n./-]{0,2}"
_START = re.compile(rf"[A-Z][ ]?[A-Z]{_GAP}[0-9]{_GAP}[0-9]{_GAP}(?=[0-9A-Z])", re.IGNORECASE)
_REST = re.compile(rf"(?:[0-9A-Z]{_GAP}){{11,{_LONGEST - 4}}}", re.IGNORECASE)
_ALNUM = re.compile(r"[0-9A-Za-z]")
_SCORE = 1.0


class IbanRecognizer:
    """Finds IBANs."""

    rules = ("IBAN",)
    patterns = (Pattern(rf"[A-Z] ?[A-Z]{_GAP}[0-9]{_GAP}[0-9]{_GAP}[0-9A-Z]{_GAP}[0-9A-Z]"),)

    def at(self, text: str, start: int, _pattern: int, _around: AroundPlace) -> Finding | None:
        """The IBAN that begins at `start`."""
        head = _START.match(text, start)
        if head is None or (start and _touches(text, start)) or _compact(head.group())[:2] not in _LENGTHS:
            return None
        rest = _REST.match(text, head.end())
        if rest is None:
            return None
        written = text[start : rest.end()]
        ends = [match.end() for match in _ALNUM.finditer(written)]
        compact = _compact(written)
        length = _LENGTHS[compact[:2]]
        if len(compact) < length or not mod_97_10(compact[4:length] + compact[:4]):
            return None
        end = start + ends[length - 1]
        if end < len(text) and text[end].isascii() and text[end].isalnum():
            return None
        return Finding(start, end, Kind.IBAN, _SCORE, compact[:length], "IBAN")


def _compact(text: str) -> str:
    return "".join(filter(str.isalnum, text)).upper()


def _touches(text: str, start: int) -> bool:
    """True when a word runs into it; "IBANDE89..." is none."""
    before = text[start - 1]
    return before.isascii() and before.isalnum() and text[max(0, start - 4) : start].upper() != "IBAN"
