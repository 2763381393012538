"""The cheap look that comes first: where in a text could an identifier be?

Most of a prompt is prose. The recognizers only run in windows around what could be part of an identifier: an `@`, a
group of digits, colons of an IPv6 address, the beginning of a well-known key. A text without any costs a few
microseconds. Windows are wider than any identifier, so the recognizers see its whole surroundings.

Every pattern here is linear: no nested repetition over the same characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Anchor(StrEnum):
    """What caught the eye."""

    AT = "@"
    DIGITS = "digits"
    COLONS = "colons"
    KEY = "key"


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of text worth a look: `text[start:end]`."""

    start: int
    end: int
    digits: int
    """Digits in it; rules that need more are not tried."""


_BEFORE_AT = 72  # characters; RFC 5321 4.5.3.1.1 allows 64 octets before the @
_AFTER_AT = 256  # RFC 5321 4.5.3.1.2: 255 octets behind it
_AROUND_DIGITS = 24  # letters around the digits of an IBAN, a fiscal code, a NINO; and one neighbour word
_AROUND_COLONS = 46  # longest text form of an IPv6 address, RFC 4291 2.2

# Four digits or more, with at most six other characters between two of them: the loosest identifier that any rule
# knows is a tax code with four letters between two digits.
_DIGIT_GROUP = re.compile(r"[0-9](?:[^0-9]{0,6}[0-9]){3,}")
_COLON_GROUP = re.compile(r"(?:[0-9A-Fa-f]{1,4}:){2}|::")


def windows(text: str, anchor: Anchor) -> list[Window]:
    """The windows of one kind in `text`, merged where they touch, in order. `KEY` is not windowed: see `secrets`."""
    spans = _SPANS[anchor](text)
    merged: list[list[int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return [Window(start, end, _count_digits(text, start, end)) for start, end in merged]


def _at_spans(text: str) -> list[tuple[int, int]]:
    spans, position = [], text.find("@")
    while position >= 0:
        spans.append((max(0, position - _BEFORE_AT), min(len(text), position + _AFTER_AT)))
        position = text.find("@", position + 1)
    return spans


def _digit_spans(text: str) -> list[tuple[int, int]]:
    return [
        (max(0, match.start() - _AROUND_DIGITS), min(len(text), match.end() + _AROUND_DIGITS))
        for match in _DIGIT_GROUP.finditer(text)
    ]


def _colon_spans(text: str) -> list[tuple[int, int]]:
    if text.count(":") < 2:
        return []
    return [
        (max(0, match.start() - _AROUND_COLONS), min(len(text), match.end() + _AROUND_COLONS))
        for match in _COLON_GROUP.finditer(text)
    ]


def _count_digits(text: str, start: int, end: int) -> int:
    return sum(map(text.count, "0123456789", [start] * 10, [end] * 10))


_SPANS = {Anchor.AT: _at_spans, Anchor.DIGITS: _digit_spans, Anchor.COLONS: _colon_spans}
