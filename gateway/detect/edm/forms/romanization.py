"""Maps the Latin spellings of an Arabic name, as in passports and newspapers of many countries, to one spelling.

    romanised("Darweesh")                     # ("darwish",), as Darwish, Derwich
    set(romanised("Mohamed")) & set(romanised("Muhammad"))        # {"muhamad"}

Arabic script writes only long vowels, so any vowel of a Latin spelling may be absent from it.

    transcribed("الزهراوي") & unvowelled("alzahrawi")        # {"zhraui"}

Finer than `spelling.vowel_insensitive_keys`, which equates all vowels: a surname without other words is compared by
these. Vowels are a, i and u; e may be a or i. Consonants that some spellings confuse are one: h and kh, g and j, q
and k.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import product
from math import prod

from .spelling import ONE_ARABIC_FORM, is_arabic, single

_SHORTEST = 4  # letters of the result
_MOST_VOWELS = 5  # of a Latin word; each is written or not
_MOST_SOUNDS = 16  # ways to read a word of Arabic script: four of its letters have two sounds
_LETTERS = str.maketrans(
    {"ş": "sh", "š": "sh", "ǧ": "g", "ḫ": "h", "ġ": "g", "ç": "sh", "ı": "i", "ğ": "g"}
    | dict.fromkeys((*map(ord, "'’`ʿʾʻʼ‘"), 0x2BE, 0x2BF))
)
# Letters without which there is nothing to do, pattern, and what is put there.
_SPELLINGS = tuple(
    (frozenset(needed), re.compile(pattern), sound)
    for needed, pattern, sound in (
        ("b", r"^abd[eu]l?(?=[^aeiou])", "abdul"),
        ("h", r"tch|sch|ch|sh", "$"),
        ("jgc", r"dj|j|gh|c(?![hk])", "g"),
        ("h", r"kh", "h"),
        ("cq", r"ck|q", "k"),
        ("p", r"ph", "f"),
        ("h", r"[td]h", lambda found: found[0][0]),
        ("owv", r"(?:ou|w|v)(?=[aeiouy])|[wv]", "w"),
        ("o", r"ou|oo|o", "u"),
        ("e", r"ee", "i"),
        ("iy", r"[ae][iy](?![aeiou])", "ai"),
        ("uw", r"a[uw](?![aeiou])", "aw"),
        ("y", r"y", "i"),
    )
)
_FINAL_H = re.compile(r"(?<=[aeiu])h$")
_ARTICLE = re.compile(r"^[ae]l(?=\w{4})")
# Letters of Arabic script in this spelling, with $ for sh; u and i are w and y as well.
_SCRIPT: dict[str, tuple[str, ...]] = {
    **{letter: (sound,) for letter, sound in zip("ابتجحخدرزسشصضطغفكلمنهوي", "abtghhdrzs$sdtgfklmnhui", strict=True)},
    "ث": ("t", "s"),
    "ذ": ("d", "z"),
    "ظ": ("d", "z"),
    "ق": ("k", "g"),
}
_SCRIPT_ARTICLE = re.compile(r"^ال(?=\w{3})")
_MARKS_AND_END = re.compile("[\u0610-\u061a\u064b-\u065f\u0670]|[هة]$")
_LATIN_ARTICLE = re.compile(r"^[ae](?:l(?=\w{4})|([nrstdz])(?=\1))")
_INITIAL_AIN = re.compile("^[عءئؤ]")
_SHORT = re.compile(r"(?<!^)(?:[ae]|u(?!$)|i(?![aeiu]|$))")
"""A vowel that Arabic script may leave out: none before it is, nor y, nor a long one at the end."""
_FIRST_VOWEL = re.compile("^[aiu]")
_SHORTEST_OPEN = 5  # letters of what begins with a vowel and not with an article


def romanised(word: str) -> tuple[str, ...]:
    """Return the spellings of a lower-case Latin word; empty if it is too short or has other letters."""
    found: dict[str, None] = {}
    for each in _spelled(word, _ARTICLE):
        spelled = _FINAL_H.sub("", each).replace("$", "sh")
        if len(spelled) >= _SHORTEST:
            found[spelled.replace("e", "i")] = found[spelled.replace("e", "a")] = None
    return tuple(found)


def transcribed(word: str) -> frozenset[str]:
    """A word of Arabic script as Latin letters would have it without short vowels; empty for what is too short, and for
    what could be read in more ways than any name."""
    if not is_arabic(word):
        return frozenset()
    plain = _MARKS_AND_END.sub("", unicodedata.normalize("NFKC", word)).translate(ONE_ARABIC_FORM)
    plain = _INITIAL_AIN.sub("ا", _SCRIPT_ARTICLE.sub("", plain))
    parts = [_SCRIPT.get(letter, ("",)) for letter in plain]
    if plain.startswith("و"):
        parts[0] = ("w",)
    if prod(map(len, parts)) > _MOST_SOUNDS:
        return frozenset()
    return _long_enough(map("".join, product(*parts)))


def unvowelled(word: str) -> frozenset[str]:
    """Return the Arabic consonants of a Latin word in lower case, for every choice of short vowels."""
    found: frozenset[str] = frozenset()
    for is_cut, spelled in enumerate(() if word.endswith("e") else _spelled(word, _LATIN_ARTICLE)):
        for each in dict.fromkeys((spelled, _FINAL_H.sub("", spelled))):
            is_short = [_SHORT.match(each, place) is not None for place in range(len(each))]
            if sum(is_short) <= _MOST_VOWELS:
                letters = zip(each, is_short, strict=True)
                parts = [("", *letter.strip("e")) if short else (letter,) for letter, short in letters]
                found |= _long_enough(map("".join, product(*parts)), _SHORTEST if is_cut else _SHORTEST_OPEN)
    return found


def _long_enough(spellings: Iterator[str], shortest_open: int = _SHORTEST) -> frozenset[str]:
    """Return the spellings with enough letters; all initial vowels are equal.

    Args:
        shortest_open: letters of what begins with one.
    """
    found = (_FIRST_VOWEL.sub("a", single(each)).replace("w", "u") for each in spellings)
    return frozenset(each for each in found if len(each) >= (shortest_open if each[0] == "a" else _SHORTEST))


def _spelled(word: str, article: re.Pattern[str]) -> Iterator[str]:
    """Return a Latin word with one letter per sound (`$` for sh, `e` unchanged), with and without its article."""
    plain = unicodedata.normalize("NFD", word.translate(_LETTERS))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    if not (plain.isascii() and plain.isalpha()):
        return
    for each in dict.fromkeys((plain, article.sub("", plain))):
        spelled = each
        for needed, pattern, sound in _SPELLINGS:
            if not needed.isdisjoint(spelled):
                spelled = pattern.sub(sound, spelled)
        yield single(spelled)
