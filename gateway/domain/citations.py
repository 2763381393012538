"""Checks quotes: a quote is shown only if it occurs in its chunk. Pure.

Both texts are compared after the same normalization:

- Unicode NFKC of each character with its combining marks, so `ﬁ` equals `fi`, and `ä` equals `a` with diaeresis.
- Soft hyphens and zero-width characters are removed.
- Each run of white space is one space, so a line break of a PDF equals a space.
- Typographic quotation marks and dashes equal `"`, `'` and `-`.

Case, digits, words and their order must be equal. No part may be left out: a quote with `...` for omitted words is not
found.

    find_quote("within five days", chunk_text)   # (120, 136): offsets in the chunk; None if it does not occur
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

MIN_CHARACTERS, MAX_CHARACTERS = 8, 2_000
"""Length of a quote after normalization; a shorter one occurs in most texts by chance. Chosen 2026-11-29."""

_REMOVED = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_EQUAL = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
}


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Return the first location of a quote in a chunk's text.

    Returns:
        Start and end, in code points of `text`; None if the quote does not occur or its length is out of range.
    """
    wanted = "".join(character for character, _, _ in _normalized(quote)).strip()
    if not MIN_CHARACTERS <= len(wanted) <= MAX_CHARACTERS:
        return None
    parts = list(_normalized(text))
    position = "".join(character for character, _, _ in parts).find(wanted)
    if position < 0:
        return None
    return parts[position][1], parts[position + len(wanted) - 1][2]


def _normalized(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield normalized characters, each with start and end of its source in `text`."""
    is_space = False
    for start, end in _clusters(text):
        for character in unicodedata.normalize("NFKC", text[start:end]):
            if character in _REMOVED:
                continue
            if character.isspace():
                if not is_space:
                    yield " ", start, end
                is_space = True
                continue
            is_space = False
            yield _EQUAL.get(character, character), start, end


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Yield ranges of a character with its combining marks."""
    start = 0
    for position in range(1, len(text) + 1):
        if position == len(text) or not unicodedata.combining(text[position]):
            yield start, position
            start = position
