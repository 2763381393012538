"""Recognizes e-mail addresses: the dot-atom of RFC 5322 with letters of any script, and any top-level domain.

Presidio's own check rejects internal addresses such as anna@bank.internal, by a list of domains that it downloads.
"""

from __future__ import annotations

import re
import string

from ...domain.entities import EntityType
from ..context.surroundings import TextContext
from ..findings.finding import Finding
from ..text.scanner import Pattern

_LOCAL = string.ascii_letters + string.digits + "_%+~&!#$*.'-"  # of RFC 5322, what in practice does not only separate
_NEVER_FIRST = ".-'"
_NOT_LOCAL = re.compile(r"[^\w%+~&!#$*.'-]")
_LONGEST_LOCAL = 128  # characters; RFC 5321 4.5.3.1.1 allows 64 octets, some write more
_DOMAIN = re.compile(
    r"@(?:\[[0-9A-Fa-f:.]{3,45}\]|(?:[0-9]{1,3}\.){3}[0-9]{1,3}"
    r"|(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,126}[^\W_][\w-]{0,61}[^\W_])"
)
_QUOTED = re.compile(r"\"[^\"\n@]{1,64}\"\Z")
# Scripts without a space between a word and an address: Thai, Chinese, Japanese, Korean.
_NO_SPACES = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD_BEFORE = re.compile(rf".*[{_NO_SPACES}](?=[0-9A-Za-z])", re.DOTALL)
_WORD_AFTER = re.compile(rf"(?<=[0-9A-Za-z])[{_NO_SPACES}]")
_DIGITS_AND_DOT = re.compile(r"@[0-9]{1,63}\.[0-9]{1,63}")
_SCORE = 0.9


class EmailRecognizer:
    """Finds e-mail addresses."""

    rules = ("EMAIL",)
    patterns = (Pattern(r"@[0-9A-Za-z\[\x80-\xff]"),)

    def at(self, text: str, start: int, _pattern: int, _around: TextContext) -> Finding | None:
        """Return the address whose `@` is at `start`."""
        domain = _DOMAIN.match(text, start)
        if domain is None:
            return None
        if _DIGITS_AND_DOT.fullmatch(domain.group()):
            return None  # "x=4092.10" as quoted-printable
        first, end = _local_start(text, start), domain.end()
        if first == start:
            return None
        if not domain.group().isascii() and (word := _WORD_AFTER.search(text, start, end)):
            end = word.start()
        return Finding(first, end, EntityType.EMAIL, _SCORE, text[first:end].lower(), "EMAIL")


def _local_start(text: str, end: int) -> int:
    """Return the start of the local part that ends at `end`; `end` if the local part is empty."""
    lead = text[max(0, end - _LONGEST_LOCAL) : end]
    local = lead[len(lead.rstrip(_LOCAL)) :]
    if len(local) < len(lead) and not lead[-len(local) - 1].isascii():  # a letter of another script, perhaps
        last = 0
        for match in _NOT_LOCAL.finditer(lead):
            last = match.end()
        local = lead[last:]
        if word := _WORD_BEFORE.match(local):
            local = local[word.end() :]
    elif lead.endswith('"') and (quoted := _QUOTED.search(lead)):
        local = quoted.group()
    return end - len(local.lstrip(_NEVER_FIRST))
