"""Decides whether a text without a detectable language contains a word that could be a name.

A newcomer's first requests are single words, labels and numbers: their language is undetermined, and policy keeps
undetermined text on-prem because a name in it might not be found. A text of known words contains no name.

    is_nameless("test 4711")            # True
    is_nameless("PESEL / IBAN: EUR")    # True
    is_nameless("Kowalska 4711")        # False: an unknown word could be a name
"""

from __future__ import annotations

import re
from pathlib import Path

from .given_names import is_given_name
from .non_names import NON_NAMES

_WORD = re.compile(r"[^\W\d_]+")
_MARKED = re.compile("[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670]")  # marks that would cut a word into pieces
_LONGEST = 2_000
"""Characters of a text that is looked at; a longer one has sentences."""

NAMELESS: frozenset[str] = NON_NAMES | frozenset(
    word
    for line in (Path(__file__).parent / "nameless_words.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
    for word in line.split()
)
"""Words in lower case that cannot be names."""


def is_nameless(text: str) -> bool:
    """Return whether every word of a text is known not to be a name; two single letters are initials.

    Args:
        text: without its findings.
    """
    if len(text) > _LONGEST or _MARKED.search(text):
        return False
    was_letter = False
    for word in _WORD.findall(text):
        lowered, is_letter = word.lower(), len(word) == 1
        if (is_letter and was_letter) or not (is_letter or lowered in NAMELESS) or _may_be_given(word):
            return False
        was_letter = is_letter
    return True


def _may_be_given(word: str) -> bool:
    """Return whether a word with a capital is also a given name: `Mark`, `June`."""
    return word.istitle() and len(word) > 1 and is_given_name(word)
