"""A surname that stands alone must be written as it is: these keys are exact where those of `keys` are forgiving.

Two words of one person may both merely sound like the list's, because they vouch for each other. One word may not:
"Dice" is no "Deise". So only case endings of the surname's own declension, lost marks (ö as o or oe) and the standard
transliterations of Cyrillic are allowed for. A key is a stem and a declension; a text's word has one for every
declension to which its ending could belong:

    listed_forms("Kowalska")                                         # {"fkowalska|x", "fkowalsk|s"}
    text_forms("Ковальской") & listed_forms("Kowalska")              # {"fkowalsk|s"}
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import IntEnum

from sovctl.gateway.detect.edm.spelling import ONE_ARABIC_FORM, is_arabic
from sovctl.gateway.detect.edm.stems import stems


class Form(IntEnum):
    """How a surname is written in a text, the surest first."""

    AS_LISTED = 0
    """The nominative of any gender, in any script."""
    POSSESSIVE = 1
    """With the s of a genitive, which in other languages is a plural's."""
    INFLECTED = 2
    """In another case."""


def _declensions(table: str) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    rows = (line.split(":") for line in table.strip().splitlines())
    return {
        name.strip(): tuple(
            frozenset("" if ending == "-" else ending for ending in half.split()) for half in endings.split("|")
        )  # type: ignore[misc]
        for name, endings in rows
    }


# Declension: endings of the nominative | of the other cases. A hyphen is no ending.
_CYRILLIC = _declensions(
    """
    s: ий ый ой ая яя | ого его ому ему ым им ом ем ей ую юю ых их
    a: а я            | ы и е у ю ой ей ою ею
    y: ь й            | я ю ем ём е и
    o: о              | а у ом ові
    c: -              | а у ом ем ым е ы ых ой ові
    """
)
_LATIN = _declensions(
    """
    s: i a y iy ij yj aya aia aja oi oy | iego iemu im iej ich imi ie ogo omu ym uyu eho emu e ou
    a: a                                | y i e ie u ou ze ce
    o: o                                | y i e ie a om
    c: -                                | a u owi em iem e ie y ow om ami owie ovi s oi oy
    x: -                                | s owi iem ovi em
    """
)
_ADJECTIVE = re.compile(r"(?:[sc]k|dzk)(?:i|a|y|iy|ij|yj|aya|aia|aja)\Z|(?:[сц]к|[нвл])(?:ий|ый|ой|ая|яя)\Z")
_SLAVIC = re.compile(
    r"(?:wicz|witsch|vich|vic|czyk|cik|[aeiy]k|uk|chuk|[oe]w|[oe]v|[iy]n|enko|ic|iec|ec|arz|acz|en|an|on|[oe]va|[iy]na|[oe]wa"
    r"|sz|asz|ko)\Z"
)
_KAZAKH_SUFFIX = re.compile(r"(?:[дтн][ыі]ң|[ғқ]а|[гк]е|[дтн][ае]н|[мбп]ен|[дтн][ыі]|[дт][ае])\Z")
_KAZAKH_LETTER = re.compile("[әғқңөұүһі]")
_SHORTEST_STEM = 3  # letters

_LETTERS = "абвгдежзийклмнопрстуфхцчшщъыьэюя"
# How passports and habits of several countries write these letters; each row is one way, `-` is nothing.
_STANDARDS = tuple(
    str.maketrans(dict(zip(_LETTERS, ("" if sound == "-" else sound for sound in row.split()), strict=True)))
    for row in """
    a b v g d e zh z i i k l m n o p r s t u f kh ts  ch   sh  shch    ie y - e iu  ia
    a b v g d e zh z i y k l m n o p r s t u f kh ts  ch   sh  shch    -  y - e yu  ya
    a b w g d e sh s i j k l m n o p r s t u f ch z   tsch sch schtsch -  y - e ju  ja
    a b w g d e z  z i j k l m n o p r s t u f ch c   cz   sz  szcz    -  y - e ju  ja
    a b v g d e z  z i j k l m n o p r s t u f h  c   c    s   sc      -  y - e ju  ja
    a b v g d e j  z i i k l m n o p r s t ou f kh ts tch  ch  chtch   -  y - e iou ia
    """.strip().splitlines()
)
_HARD_K = re.compile("([kg])e")  # Polish: Dudkiewicz
_SOFT_E = re.compile(r"(?:^|(?<=[аеёиоуыэюяьъ]))е")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_PLAIN = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"})


def listed_forms(surname: str) -> frozenset[str]:
    """The keys of a listed surname."""
    return frozenset(_listed(_normal(surname)))


def text_forms(word: str) -> frozenset[str]:
    """The keys of a text's word, for every declension that its ending allows."""
    return frozenset(key for key, _ in _in_text(_normal(word)))


def forms_of(word: str) -> dict[str, Form]:
    """The same keys, with the form that the word is in when the surname is that one."""
    found: dict[str, Form] = {}
    for key, form in _in_text(_normal(word)):
        if form < found.get(key, len(Form)):
            found[key] = form
    return found


def _normal(word: str) -> str:
    return unicodedata.normalize("NFC", word.casefold()).replace("ё", "е").translate(ONE_ARABIC_FORM)


def _listed(name: str) -> Iterator[str]:
    yield f"f{name}|x"
    if is_arabic(name):
        return
    if _is_cyrillic(name):
        stem, declension = _declined(name, _CYRILLIC, is_slavic=True)
        yield f"f{stem}|{declension}"
        for latin in _in_latin(stem):
            yield f"f{latin}|{declension}"
        for latin in _in_latin(name):
            yield f"f{latin}|x"
        return
    for plain in _plain(name):
        stem, declension = _declined(plain, _LATIN, is_slavic=_SLAVIC.search(plain) is not None)
        yield f"f{stem}|{declension}"


def _in_text(word: str) -> Iterator[tuple[str, Form]]:
    yield f"f{word}|x", Form.AS_LISTED
    if is_arabic(word):
        yield from ((f"f{stem}|x", Form.AS_LISTED) for stem in stems(word))
        return
    if not _is_cyrillic(word):
        for plain in _plain(word):
            yield from ((f"f{stem}|{declension}", form) for stem, declension, form in _stems(plain, _LATIN))
        return
    for stem, declension, form in _stems(word, _CYRILLIC):
        yield f"f{stem}|{declension}", form
        for latin in _in_latin(stem):
            yield f"f{latin}|{declension}", form
            if declension == "c":
                yield f"f{latin}|x", form
    suffix = _KAZAKH_SUFFIX.search(word)
    if suffix and suffix.start() > _SHORTEST_STEM and _KAZAKH_LETTER.search(word):
        yield from ((key, Form.INFLECTED) for key, _ in _in_text(word[: suffix.start()]))


def _declined(
    name: str, table: dict[str, tuple[frozenset[str], frozenset[str]]], *, is_slavic: bool
) -> tuple[str, str]:
    """The stem and declension of a nominative."""
    if _ADJECTIVE.search(name):
        ending = max((each for each in table["s"][0] if name.endswith(each)), key=len)
        return name[: -len(ending)], "s"
    if is_slavic or name.endswith(("a", "o")):
        for declension, (nominatives, _) in table.items():
            ending = next((each for each in nominatives if each and name.endswith(each)), "")
            if ending and declension != "s" and len(name) - len(ending) >= _SHORTEST_STEM - 1:
                return name[: -len(ending)], declension
    return name, "c" if is_slavic else "x"


def _stems(word: str, table: dict[str, tuple[frozenset[str], frozenset[str]]]) -> Iterator[tuple[str, str, Form]]:
    for declension, (nominatives, others) in table.items():
        for ending in (*nominatives, *others):
            stem = word[: len(word) - len(ending)]
            if word.endswith(ending) and len(stem) >= min(_SHORTEST_STEM, len(word)):
                form = Form.AS_LISTED if ending in nominatives else Form.INFLECTED
                yield stem, declension, Form.POSSESSIVE if ending == "s" else form


def _in_latin(word: str) -> set[str]:
    soft = _SOFT_E.sub("ье", word)
    found = {word.translate(standard) for standard in _STANDARDS}
    found |= {soft.replace("ье", "йе").translate(standard) for standard in _STANDARDS[1:]} if soft != word else set()
    found |= {_HARD_K.sub(r"\1ie", each) for each in found}
    return {each for each in found if each.isascii()}


def _plain(word: str) -> set[str]:
    """A Latin word without its marks: ö is o, or oe."""
    return {_unmarked(word), _unmarked(word.translate(_UMLAUTS))}


def _unmarked(word: str) -> str:
    letters = unicodedata.normalize("NFD", word.translate(_PLAIN))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _is_cyrillic(word: str) -> bool:
    return "\u0400" <= word[:1] <= "\u052f"
