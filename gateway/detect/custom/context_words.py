"""Context words of a site's recognizer: one of them must be near a match.

    near = NearWords(["Kundennummer", "customer no"], before=60, after=0)
    near.has_word(text, start, end)       # whether a word is within reach of `text[start:end]`
    near.explains("customer no")          # whether a label contains one of the words

In scripts with capitals a word is a whole word; others write words without spaces, or join them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_SPACE = re.compile(r"\s+")


class NearWords:
    """Context words of one recognizer.

    Args:
        words: in any letter case.
        before: characters before a match in which a word counts.
        after: characters after it.
    """

    def __init__(self, words: Iterable[str], *, before: int, after: int) -> None:
        self._before = before
        self._after = after
        patterns = sorted({_pattern(_folded(word)) for word in words}, key=len, reverse=True)
        self._words = re.compile("|".join(patterns))

    def has_word(self, text: str, start: int, end: int) -> bool:
        """Return whether one of the words is within reach of a span of `text`."""
        return self.explains(text[max(0, start - self._before) : start]) or self.explains(text[end : end + self._after])

    def explains(self, text: str) -> bool:
        """Return whether a text contains one of the words."""
        return bool(text) and self._words.search(_folded(text)) is not None


def _folded(text: str) -> str:
    folded = text.casefold()
    return folded if folded.isascii() else unicodedata.normalize("NFKC", folded)


def _pattern(word: str) -> str:
    escaped = r"\s{1,8}".join(re.escape(part) for part in _SPACE.split(word.strip()))
    before = r"(?<![^\W_])" if _has_case(word[:1]) else ""
    after = r"(?![^\W_])" if _has_case(word[-1:]) else ""
    return f"{before}{escaped}{after}"


def _has_case(letter: str) -> bool:
    return letter.upper() != letter or letter.lower() != letter or letter.isdigit()
