"""Names that are also common words: alone, they do not count as names.

is_common("Rose")          # True: the flower, a form of rise, and a name
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...names.non_names import NON_NAMES, is_common_word
from .spelling import is_arabic
from .stems import base_stems, stems


def _read() -> Iterator[tuple[str, str]]:
    """Language and word."""
    language = ""
    for line in (Path(__file__).parent / "common_words.txt").read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("#"):
            continue
        head, colon, rest = line.partition(":")
        language = head if colon else language
        for word in (rest if colon else line).split():
            yield language, word.replace("ё", "е")


_COMMON: frozenset[str] = frozenset(word for _, word in _read())
_WITH_S = frozenset(word for language, word in _read() if language in ("en", "de", "nl"))
"""Common words of languages in which a name has a final s in the genitive."""
_SHAPED = re.compile(
    "(?:[وف]?[بك]?ال|[وف]?لل)\\w{3,30}(?:ي|ية)|[وفبكل]?\\w{2,30}اوي|[وف]?[وفبكل]?(?:(?:بن|بل)\\w{4,30}|[اأ]?بو\\w{3,30}|عبدال\\w{3,30})"
)
"""Arabic names by their form: family or place of origin (القحطاني), father, son or servant. Names of
countries are listed as words."""
_COMMON_STEMS = frozenset(
    stem for language, word in _read() if language in ("ru", "uk", "kk") for stem in base_stems(word)
)
_SLAVIC_STEMS = frozenset(stem for language, word in _read() if language in ("pl", "cs") for stem in base_stems(word))


def is_common(word: str) -> bool:
    """Return whether a word alone is too common to be a name; in Cyrillic, in any of its cases."""
    lowered = word.casefold().replace("ё", "е")
    if is_arabic(lowered) and not _SHAPED.fullmatch(lowered):
        return True  # without capitals, names and words cannot be distinguished
    if lowered in _COMMON or lowered.removesuffix("s") in _WITH_S or lowered in NON_NAMES or is_common_word(lowered):
        return True
    return "\u0400" <= lowered[:1] <= "\u052f" and not _COMMON_STEMS.isdisjoint(stems(lowered))


def is_case_of_common(word: str) -> bool:
    """Return whether a word may be an inflected common word in Polish or Czech; some nominative names match, too."""
    return not _SLAVIC_STEMS.isdisjoint(stems(word))


DETERMINERS: frozenset[str] = frozenset(
    """
    the this these those each every my your his her our their its some any der die das den dem des ein eine
    einen einem einer eines kein keine keinen keinem keiner im am zum zur vom beim ins ans jeder jede jedes jedem jeden
    alle aller allen viele vielen mein meine meinen meiner dein sein seine seinen seiner ihr ihre ihren ihrer unser
    unsere unseren dieser diese dieses diesem diesen welcher welche le la les un une des du ce cet cette ces mon ma mes
    son sa ses notre votre leur au aux el los las una unos unas este esta sus mis il lo gli uno della dello dei degli
    delle nel nella nello sulla dal dalla um uma pelo pela het een deze dit mijn zijn haar ons onze bir bu itu
    """.split()  # noqa: SIM905 - a table is read more easily than a list of quoted words
)
"""Words that precede nouns and rarely names: articles, possessives, "im", "zum"."""
