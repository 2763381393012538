"""Finds all cues of names, and parts of patronymics, in one pass over a text's words.

clues_in(words_of("Dear Mr. Ola Nordmann").folded)     # [(6, b" dear "), (9, b" mr "), (14, b" ola ")]
"""

from __future__ import annotations

import re

from ..text.scanner import Pattern, Scanner
from .cues import CUES, JOINTS

Clue = tuple[int, bytes]
"""End of the clue in `Words.folded`, and the clue: one of `CUES`, `JOINTS` or `PATRONYMIC_PARTS`."""

PATRONYMIC_PARTS = frozenset(
    map(
        str.encode,
        ("vich", "vn", "ович", "евич", "ёвич", "ьич", "мич", "кич", "овн", "евн", "ёвн", "ичн", "ОВ", "ЕВ"),
    )
)
"""Parts of patronymics; every patronymic contains one of these."""

_PHRASES = sorted(CUES.keys() | JOINTS | PATRONYMIC_PARTS)
_SCANNER = Scanner([Pattern(re.escape(phrase.decode()), has_start=False, has_case=True) for phrase in _PHRASES])


def clues_in(folded: bytes) -> list[Clue]:
    """Return every clue in `Words.folded`, by end.

    Raises:
        hyperscan.HyperscanError: it could not be scanned to its end.
    """
    return [(end, _PHRASES[number]) for end, _, number in _SCANNER.scan_bytes(folded)]
