"""Cyrillic and Greek names in Latin letters, by the standards and customs of several countries.

    in_latin("щербаков")            # {"shcherbakov", "schtscherbakow", "szczerbakow", "scerbakov", ...}

A surname without other words is compared letter by letter, so every spelling is generated; `spelling` is for two words
of a name, which are compared by sound. Marks are omitted (š is s), as in texts before the comparison.
"""

from __future__ import annotations

import re

from .spelling import is_greek, without_accents

_LETTERS = "абвгдежзийклмнопрстуфхцчшщъыьэюяё"
_RUSSIAN = """
    a b v g d e zh z i i k l m n o p r s t u f kh ts  ch   sh  shch    ie y - e iu  ia  e
    a b v g d e zh z i y k l m n o p r s t u f kh ts  ch   sh  shch    -  y - e yu  ya  yo
    a b w g d e sh s i j k l m n o p r s t u f ch z   tsch sch schtsch -  y - e ju  ja  jo
    a b w g d e sch s i i k l m n o p r s t u f ch z  tsch sch schtsch -  y - e ju  ja  jo
    a b w g d e z  z i j k l m n o p r s t u f ch c   cz   sz  szcz    -  y - e ju  ja  io
    a b v g d e z  z i j k l m n o p r s t u f h  c   c    s   sc      -  y - e ju  ja  e
    a b v g d e z  z i j k l m n o p r s t u f h  c   c    s   s       -  y - e u   a   e
    a b v g d e j  z i i k l m n o p r s t ou f kh ts tch  ch  chtch   -  y - e iou ia  io
    a b v g d e zh z i j k l m n o p r s t u f x  cz  ch   sh  shh     -  y - e yu  ya  yo
    a b v g d e zh z i j k l m n o p r s t u f kh c   ch   sh  shh     -  y - eh yu ya  yo
    a b v g d e zh z i i k l m n o p r s t u f kh tc  ch   sh  shch    ie y - e iu  ia  e
    a b v g d e zh z i y k l m n o p r s t u f h  ts  ch   sh  sch     -  y - e yu  ya  yo
    a b v g d e zh z i i k l m n o p r s t u f h  c   ch   sh  sch     -  i - e iu  ia  e
    a b v g d e zh z i y k l m n o p r s t u f kh ts  ch   sh  sch     -  y - e yu  ya  e
"""
"""One way a row, `-` is nothing: passports (ICAO 9303), English (BGN), German twice, Polish, DIN 1460, ISO 9, French,
GOST 7.79, GOST 7.0.34, GOST R 52535, and three without a standard."""
_MOST_USUAL = 6  # rows that a text's word is tried in
_UKRAINIAN = {"г": "h", "и": "y"}
_OTHERS = {
    "і": "i",
    "ї": "i",
    "є": "ie",
    "ґ": "g",
    "ә": "a",
    "ғ": "g",
    "қ": "k",
    "ң": "n",
    "ө": "o",
    "ұ": "u",
    "ү": "u",
}
_OTHERS |= {"һ": "h", "ў": "u"}
_INITIAL = {"є": "ye", "ї": "yi", "й": "y", "ю": "yu", "я": "ya"}  # of the Ukrainian standard of 2010, at the beginning
_KAZAKH = {"қ": "q", "ғ": "gh", "ң": "ng"}
_KAZAKH_LATIN = {"қ": "q", "ж": "j", "ш": "s", "щ": "s", "й": "i", "и": "i", "х": "h", "ц": "ts"}  # of 2021
_KAZAKH_LETTER = re.compile("[әғқңөұүһі]")
_UKRAINIAN_LETTER = re.compile("[гиіїєґ]")

_HARD_K = re.compile("([kg])e")  # Polish: Dudkiewicz
_SOFT_E = re.compile(r"(?:^|(?<=[аеёиоуыэюяьъ]))е")
_BETWEEN_VOWELS = re.compile("(?<=[аеёиоуыэюя])с(?=[аеёиоуыэюя])")

_GREEK_PAIRS = re.compile("ου|αυ|ευ|γγ|γκ|μπ|ντ|τζ|.")
_GREEK = dict(zip("αβγδεζηικλμνξοπρστυφω", "avgdeziiklmnxoprstyfo", strict=True))
_GREEK |= {"θ": "th", "χ": "ch", "ψ": "ps", "ου": "ou", "αυ": "af", "ευ": "ef", "γγ": "ng", "γκ": "gk", "ντ": "nt"}
_GREEK |= {"μπ": "b", "τζ": "tz"}
_GREEKLISH: tuple[dict[str, str], ...] = (
    {},
    {"χ": "h"},
    {"η": "h", "ω": "w", "χ": "x"},
    {"υ": "i", "ξ": "ks"},
    {"β": "b", "μπ": "mp"},
)
"""Other habits than those of ELOT 743."""


def _tables(rows: str) -> tuple[dict[str, str], ...]:
    return tuple(
        _OTHERS | dict(zip(_LETTERS, ("" if sound == "-" else sound for sound in row.split()), strict=True))
        for row in rows.strip().splitlines()
    )


_TABLES = _tables(_RUSSIAN)
_UKRAINIAN_TABLES = tuple(
    table | _UKRAINIAN | {"є": soft, "ї": yi}
    for table, soft, yi in (
        (_TABLES[0], "ie", "i"),
        (_TABLES[1], "ye", "yi"),
        (_TABLES[2], "je", "ji"),
        (_TABLES[4], "je", "ji"),
        (_TABLES[6], "e", "i"),
        (_TABLES[7], "ie", "i"),
    )
)
_KAZAKH_TABLES = (_TABLES[1] | _KAZAKH, _TABLES[0] | _KAZAKH, _TABLES[0] | _KAZAKH_LATIN, _TABLES[0] | {"қ": "q"})


def in_latin(word: str, *, is_usual: bool = False) -> frozenset[str]:
    """Return a lower-case word in Latin letters without diacritics.

    Args:
        is_usual: only in the most usual ways.
    """
    return _greek(without_accents(word)) if is_greek(word) else _cyrillic(word, is_usual)


def _cyrillic(word: str, is_usual: bool) -> frozenset[str]:
    tables = _TABLES[: _MOST_USUAL if is_usual else None]
    found = {_written(word, table) for table in tables}
    soft = _SOFT_E.sub("йе", word)
    if soft != word:
        found |= {_written(soft, table) for table in tables[1:]}
    double = _BETWEEN_VOWELS.sub("сс", word)
    if double != word:
        found |= {_written(double, table) for table in tables[2:4]}
    if _UKRAINIAN_LETTER.search(word):
        for table in _UKRAINIAN_TABLES[: 1 if is_usual else None]:
            written = _written(word, table)
            found |= {written, _written(word[0], table | _INITIAL) + _written(word[1:], table)}
    if not is_usual and _KAZAKH_LETTER.search(word):
        found |= {_written(word, table) for table in _KAZAKH_TABLES}
    found |= {_HARD_K.sub(r"\1ie", each) for each in found}
    return frozenset(each for each in found if each.isascii())


def _written(word: str, table: dict[str, str]) -> str:
    return "".join(table.get(letter, letter) for letter in word)


def _greek(word: str) -> frozenset[str]:
    pieces = _GREEK_PAIRS.findall(word)
    found = set()
    for other in _GREEKLISH:
        table = _GREEK | other
        latin = "".join(table.get(piece, piece) for piece in pieces)
        found |= {latin, latin.replace("af", "av").replace("ef", "ev")}
    return frozenset(found)
