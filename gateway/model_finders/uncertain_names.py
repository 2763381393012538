"""Could there be a name in a text that nobody found? Cheap, and wrong on one side only. Pure.

    has_uncertain_name("please ask Petrova about it", [])         # True: a capitalised word that is no everyday word
    has_uncertain_name("please ask about the transfer", [])       # False

A word counts that begins with a capital, or that is in a script without capitals, outside of what was found, unless it
is an everyday word of one of fifty languages or one that is nobody (`detect.names.nobody`). So every language of such a
script and every text in German is gray; a name in small letters is not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..detect.findings.finding import Finding
from ..detect.names.non_names import NON_NAMES, is_common_word
from ..tokens.search import find_tokens

_WORD = re.compile(r"[^\W\d_]{2,}")


def has_uncertain_name(text: str, found: Sequence[Finding]) -> bool:
    """True when a word of `text` could be a name.

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
