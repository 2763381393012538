"""Words in the form that checks compare: without case, diacritics and, on request, endings of inflection.

In scripts without spaces between words (Chinese, Japanese, Thai, Khmer, Lao, Burmese), each character is a word.

    words("Ипотеки, Überweisung's")                  # ["ипотеки", "uberweisung"]
    stems(words("ипотекой"), languages={"ru"})       # ["ипотек"]
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache

from ..detect.text.deobfuscation import plain
from ..detect.text.view import NormalizedText

_NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_NO_SPACES}]|[^\W_{_NO_SPACES}]+")
_POSSESSIVE = re.compile(r"['’]s?\b")
_SHORTEST_STEM, _AFTER_ONE_LETTER = 4, 3  # letters; shorter stems are often other words

# Endings of declension, longest first, adjectives before nouns (2026-11). Phrases are nouns, so verbs are omitted.
_ENDINGS = {
    "ru": "иями ями ами иях ого его ому ему ыми ими ая яя ое ее ые ие ый ий ой ей ую юю ых их ым им ом ем ам ям ах ях "
    "ов ев ию ью ия ие ья ье а я о е ы и у ю ь й",
    "pl": "owie ami ach ego emu ymi imi owi iem ow om em ie ej ych ich ym im a e i o u y",
    "en": "ies es s",
    "de": "ern en er es em e n s",
}


def as_read(text: str) -> str:
    """Return `text` without invisible characters, and with ASCII digits."""
    return plain(NormalizedText(text)).text


def fold(text: str) -> str:
    """Return `text` without case and diacritics. Vowel signs of Indic scripts (combining class 0) are kept."""
    if text.isascii():
        return text.lower()
    # Twice, because the decomposition of a character may have a case (Unicode 3.13, D146).
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text.casefold()).casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def words(text: str) -> list[str]:
    """Return the folded words of `text`, in order."""
    folded = fold(text)
    if "'" in folded or "’" in folded:
        folded = _POSSESSIVE.sub("", folded)
    return _WORD.findall(folded)


def stems(folded: Iterable[str], languages: Collection[str]) -> list[str]:
    """Return folded words without the longest ending of any of the languages."""
    endings = _endings(frozenset(languages))
    return [_stem(word, endings) for word in folded] if endings else list(folded)


STEMMED = frozenset(_ENDINGS)
"""Languages with endings."""


@lru_cache
def _endings(languages: frozenset[str]) -> frozenset[str]:
    return frozenset(fold(ending) for language in languages for ending in _ENDINGS.get(language, "").split())


_LONGEST_ENDING = max(len(ending) for endings in _ENDINGS.values() for ending in endings.split())


def _stem(word: str, endings: frozenset[str]) -> str:
    for length in range(min(_LONGEST_ENDING, len(word) - _AFTER_ONE_LETTER), 0, -1):
        if word[-length:] in endings and len(word) - length >= (_SHORTEST_STEM if length > 1 else _AFTER_ONE_LETTER):
            return word[:-length]
    return word
