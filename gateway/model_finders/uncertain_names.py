"""Detects whether a text could contain names that were not found. Fast; it may return True for a text without names.

    has_uncertain_name("please ask Petrova about it", [])         # True: a capitalized word that is not a common word
    has_uncertain_name("please ask about the transfer", [])       # False

A word counts if it begins with a capital or is in a script without capitals, outside of all findings, unless it is a
common word of one of fifty languages or in `detect.names.non_names`. So every text in such a script and every text in
German has uncertain names; names in lower case do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..detect.findings.finding import Finding
from ..detect.names.non_names import NON_NAMES, is_common_word
from ..tokens.search import find_tokens

_WORD = re.compile(r"[^\W\d_]{2,}")


def has_uncertain_name(text: str, found: Sequence[Finding]) -> bool:
    """Return whether a word of `text` could be a name.

    Args:
        found: what is known in it, sorted, none overlapping.
    """
    known = [(finding.start, finding.end) for finding in found]
    if "_" in text:
        known = sorted([*known, *((token.start, token.end) for token in find_tokens(text))])
    place = 0
    for match in _WORD.finditer(text):
        word = match.group()
        if word[0].islower():
            continue
        start, end = match.span()
        while place < len(known) and known[place][1] <= start:
            place += 1
        if place < len(known) and known[place][0] < end:
            continue
        lowered = word.lower()
        if lowered not in NON_NAMES and not is_common_word(lowered):
            return True
    return False
