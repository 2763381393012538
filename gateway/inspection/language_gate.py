"""Decides which languages of text outside of messages count: stop sequences, schemas, unknown fields, keys.

Names are found only in accepted languages, so text in any other language must not leave, wherever it is. Outside of
messages most strings are codes: `</s>`, `get_weather`, `us-east-1`. They have no language, and their undetermined one
does not count. Pure.

    is_language("</s>")                                         # False
    counted_languages("Kovacs Istvan", frozenset({"und"}))      # {"und"}: two names, or two words of a language
"""

from __future__ import annotations

import re

from ..detect.edm.forms.common_words import is_common
from ..detect.language.language import NONE, UNKNOWN

_WORD = re.compile(r"(?<![\w<|])[^\W\d_]{2,}(?![\w|>])")
_FEWEST_WORDS = 2
_CAPITALS = re.compile(r"(?<!\w)(?=[A-Z][a-z]+[ ,]{1,2}([A-Z][a-z]+))([A-Z][a-z]+)")
_SENTENCE = 8  # words; a sentence of a known language has everyday words of it
_MOST_READ = 64  # pairs of capitalised words


def is_language(text: str, *, is_description: bool = False) -> bool:
    """Return whether a text outside of messages may be in a language, and not a code.

    Args:
        is_description: whether it is written for the model to read.
    """
    if is_description:
        return True
    if not text.isascii():
        return any(map(str.isalpha, text))
    if " " not in text:
        return False
    words = _WORD.finditer(text)
    return sum(1 for _, _ in zip(words, range(_FEWEST_WORDS), strict=False)) == _FEWEST_WORDS


def counted_languages(text: str, found: frozenset[str]) -> frozenset[str]:
    """Return the languages that count of those of a text; an undetermined one counts if the text may hold a name."""
    if UNKNOWN in found and not _may_hold_name(text):
        return found - {UNKNOWN, NONE}
    return found - {NONE}


def _may_hold_name(text: str) -> bool:
    if not text.isascii() and any(character.isalpha() and not character.isascii() for character in text):
        return True
    if len(_WORD.findall(text)) >= _SENTENCE:
        return True
    pairs = zip(_CAPITALS.finditer(text), range(_MOST_READ), strict=False)
    return any(not is_common(match[2].lower()) and not is_common(match[1].lower()) for match, _ in pairs)
