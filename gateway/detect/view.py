"""A text as the recognizers should see it, with a way back to the text as it was written.

Identifiers hide, by intent or by copy and paste, behind full-width digits, other scripts' digits, invisible
characters, look-alike dashes and escapes (`\\u0040`, `%40`, `&#64;`). The view shows them plain; every character of
it knows which characters of the original it stands for. Most texts need none of this and pass through untouched.

    view = view_of("anna\\\\u0040example.com")
    view.text               # "anna@example.com"
    view.span(0, 16)        # (0, 21): where that stands in the original
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

# Escapes that spell one character; ASCII texts without one of these are their own view.
_ESCAPE = re.compile(
    r"\\u00[0-9a-fA-F]{2}|%[2-7][0-9a-fA-F]|&#(?:[0-9]{2,3}|[xX][0-9a-fA-F]{2});|&(?:commat|period|amp);"
)
_NAMED = {"&commat;": "@", "&period;": ".", "&amp;": "&"}
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"), "-")
_SPACES = dict.fromkeys(
    map(ord, "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"), " "
)
_PLAIN = _DASHES | _SPACES


@dataclass(frozen=True, slots=True)
class View:
    """What the recognizers read."""

    text: str
    starts: tuple[int, ...] | None
    """For each character of `text`, where it begins in the original; None when text is the original."""
    ends: tuple[int, ...] | None
    """For each character of `text`, where it ends in the original."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The original's span for `text[start:end]`, which must not be empty."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


def view_of(text: str) -> View:
    """The view of `text`."""
    if text.isascii() and _ESCAPE.search(text) is None:
        return View(text, None, None)
    shown: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    for start, end, plain in _pieces(text):
        for index in range(position, start):
            _show(text[index], index, index + 1, shown, starts, ends)
        _show(plain, start, end, shown, starts, ends)
        position = end
    for index in range(position, len(text)):
        _show(text[index], index, index + 1, shown, starts, ends)
    return View("".join(shown), tuple(starts), tuple(ends))


def _pieces(text: str) -> list[tuple[int, int, str]]:
    return [(match.start(), match.end(), _spelled(match.group())) for match in _ESCAPE.finditer(text)]


def _spelled(escape: str) -> str:
    if escape in _NAMED:
        return _NAMED[escape]
    if escape.startswith("%"):
        return chr(int(escape[1:], 16))
    if escape.startswith("\\u"):
        return chr(int(escape[2:], 16))
    number = escape[2:-1]
    return chr(int(number[1:], 16) if number[0] in "xX" else int(number))


def _show(character: str, start: int, end: int, shown: list[str], starts: list[int], ends: list[int]) -> None:
    for plain in _plain(character):
        shown.append(plain)
        starts.append(start)
        ends.append(end)


def _plain(character: str) -> str:
    """What `character` looks like to a reader: nothing for invisible ones, a digit for any script's digit."""
    if character < "\x7f":
        return character
    if ord(character) in _PLAIN:
        return _PLAIN[ord(character)]
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Cf" or character == "\u00ad" or 0xFE00 <= ord(character) <= 0xFE0F:
        return ""  # zero-width and BiDi marks, soft hyphen, variation selectors
    return unicodedata.normalize("NFKC", character)
