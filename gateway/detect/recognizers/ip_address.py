"""IP addresses of both versions."""

from __future__ import annotations

import ipaddress
import re

from ...domain.entities import EntityType
from ..context.surroundings import TextContext
from ..findings.finding import Finding
from ..text.scanner import Pattern
from ..text.words import is_inside_word

_IPV4 = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9A-Za-z_]|[.-][0-9])")
_BEFORE = re.compile(
    r"(?:\b(?:version|ver|release|build|section|chapter|clause|article|rev|python)[\s.:=#]{0,3}|\bv\.?|§\s?)\Z",
    re.IGNORECASE,
)
_IPV6 = re.compile(r"[0-9A-Fa-f:]{2,39}(?:(?<=:)(?:[0-9]{1,3}\.){3}[0-9]{1,3})?")
_LONGEST = 45  # RFC 4291 2.2, with an IPv4 address at the end
_HEX_AND_COLONS = "0123456789abcdefABCDEF:"
_SCORE = 0.7


class IpRecognizer:
    """Finds IPv4 and IPv6 addresses."""

    rules = ("IPV4", "IPV6")
    patterns = (
        Pattern(r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}"),
        Pattern(r"::[0-9a-f]{1,4}|[0-9a-f]::"),
        Pattern(r"(?:[0-9a-f]{1,4}:){5}[0-9a-f]{1,4}"),
    )

    def at(self, text: str, start: int, pattern: int, _around: TextContext) -> Finding | None:
        """Return the address that contains the hit at `start`."""
        return self._version_6(text, start) if pattern else self._version_4(text, start)

    def _version_4(self, text: str, start: int) -> Finding | None:
        match = _IPV4.match(text, start)
        before = text[start - 1 : start] or " "
        if match is None or before in "._-" or (before.isascii() and before.isalnum()):
            return None
        parts = [int(part) for part in match.group().split(".")]
        if max(parts) > 255 or _BEFORE.search(text, max(0, start - 16), start):
            return None
        return Finding(start, match.end(), EntityType.IP, _SCORE, ".".join(map(str, parts)), "IPV4")

    def _version_6(self, text: str, start: int) -> Finding | None:
        lead = text[max(0, start - _LONGEST) : start]
        start -= len(lead) - len(lead.rstrip(_HEX_AND_COLONS))
        if text[start : start + 1] == ":" != text[start + 1 : start + 2]:
            start += 1  # "IP:fe80::1"
        match = _IPV6.match(text, start)
        if match is None:
            return None
        written = (
            match.group().rstrip(":")
            if match.group().endswith(":") and not match.group().endswith("::")
            else match.group()
        )
        end = start + len(written)
        # Names in code are made of a to f as well: a::b, Dec::Abc.
        colons = written.count(":")
        if not 2 <= colons <= 8 or ("::" not in written and colons != (6 if "." in written else 7)):
            return None
        if is_inside_word(text, start, end) or not any(map(str.isdigit, written)):
            return None
        try:
            address = ipaddress.IPv6Address(written)
        except ValueError:
            return None
        return Finding(start, end, EntityType.IP, _SCORE, str(address), "IPV6")
