"""The form of a person's name, and where it ends.

    name_at("Anna van der Berg called", 0)                  # Name(start=0, end=17, words=2, initials=0, given=1)
    name_at("anna kowalska and I", 0, may_be_lower=True)    # Name(start=0, end=13, words=2, initials=0, given=1)

In scripts with capitals a name is a row of capitalized words, initials and particles; in Arabic script, which has no
capitals, a row of words up to a typical end of a name. `non_names.txt` contains words that cannot be part of a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from ..language.stop_words import GROUP_OF
from .cues import PARTICLES, TITLES
from .given_names import GIVEN_NAMES, is_given_name
from .non_names import NON_NAMES, is_common_word

_LETTER = r"[^\W\d_]"
_MARKED = rf"(?:{_LETTER}|[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670])"
WORD = rf"{_LETTER}{_MARKED}*(?:['’\-]{_MARKED}+)*"
"""A word with the marks on its letters, inner apostrophes and hyphens: `O'Neill`, `Jean-Luc`."""

# The next word of a name: after white space, or right after an initial, which takes its full stop along.
_NEXT = re.compile(rf"(?P<gap>[ \t\u00a0]{{0,3}})(?P<word>{_LETTER}\.|{WORD})")
_PREVIOUS = re.compile(rf"(?:^|(?<=[^\w'’\-]))(?P<word>{_LETTER}\.|{WORD})[ \t\u00a0]{{0,3}}\Z")
_LONGEST_WORD = 40  # characters; the window in which a word before a place is looked for

_MOST_WORDS = 5
_MOST_LOWER_WORDS = 3

# German nouns have capitals too; surnames do not have these endings.
_NOUN_ENDINGS = ("ung", "ungen", "heit", "keit", "schaft", "nummer", "konto", "karte", "betrag", "bank", "datum")

_SURNAME = re.compile(
    r"[^\W\d_]{2}(?:(?:[оеё]в|[иы]н)(?:а|у|ым|е|ой|ы|ых)?|[сц]к(?:ий|ая|ого|ому|им|ом|ой|ую)|енко|[чщ]ук(?:а|у|ом|е)?"
    r"|дзе|швили|янц?|[оеё]вич(?:а|у|ем|е)?|[sc]k(?:i|a|iego|iemu|im|iej|ą)|dzk(?:i|a|iego|iej|ą)|czyk(?:a|owi|iem)?"
    r"|wicz(?:a|owi|em)?|[oe]va?|enko|chuk|[sc]k(?:y|iy|aya))\Z"
)

# Arabic script: what joins two words of a name, and how an imperfect verb begins.
_ARABIC_JOINTS = frozenset(("بن", "ابن", "بنت", "أبو", "ابو", "آل", "عبد", "أم", "ام", "ولد", "بو"))
_ARABIC_VERB = ("ي", "ت", "ن", "س")
_ARABIC_CONJUNCTION = "و"

LOWER = rf"(?!(?:{'|'.join(sorted(PARTICLES))})(?![^\W\d_]))[a-z]"
"""The first letter of a word in lower case, other than a particle."""
_LOWER = re.compile(LOWER)
_LOWER_WORD = re.compile(r"[a-z]+(?= )")
_NEVER_FIRST = ({word.decode() for word in GROUP_OF} | NON_NAMES) - GIVEN_NAMES - PARTICLES
"""Words that end a name without capitals before it begins."""


class Name(NamedTuple):  # made for every place where one may stand, and quicker than a frozen dataclass
    """A name in a text: `text[start:end]`."""

    start: int
    end: int
    words: int
    """Particles and initials not counted."""
    initials: int
    given: int
    """Number of words that are known given names."""


class _Word(NamedTuple):
    start: int
    end: int
    text: str
    lowered: str

    @property
    def is_initial(self) -> bool:
        return self.text.endswith(".")


def is_non_name(word: str, lowered: str) -> bool:
    """Return whether a word cannot be part of a name; in a text in capitals, common words cannot be either."""
    return (
        lowered in NON_NAMES
        or lowered in TITLES
        or lowered.endswith(_NOUN_ENDINGS)
        or (len(word) > 1 and word.isupper() and is_common_word(lowered))
    )


def is_caseless(word: str) -> bool:
    """Return whether a word is in a script without capitals."""
    return not word[0].isupper() and not word[0].islower()


def ends_like_surname(word: str) -> bool:
    """Return whether a word ends like a Slavic surname; the ending may be inflected."""
    return _SURNAME.search(word) is not None


def is_lower(text: str, at: int) -> bool:
    """Return True for most positions where no capitalized name begins. A quick test, run first."""
    return _LOWER.match(text, at) is not None


def name_at(text: str, position: int, *, may_be_lower: bool = False, most: int = _MOST_LOWER_WORDS) -> Name | None:
    """Return the name whose first word begins at `position`.

    Args:
        may_be_lower: also a name without capitals; it ends before the first everyday word.
        most: words of such a name.
    """
    if may_be_lower and (word := _LOWER_WORD.match(text, position)) is not None and word[0] in _NEVER_FIRST:
        return None  # the most frequent case; the rest gives the same result
    words = _words_at(text, position)
    first = next(words, None)
    if first is None or (len(first.text) == 1 and text[first.end : first.end + 1] == "_"):  # `E_MAIL`
        return None
    if is_caseless(first.text):
        return _arabic(text, [first, *words])
    if first.text[0].islower() and first.lowered not in PARTICLES:
        return _lower(first, islice(words, most - 1)) if may_be_lower else None
    return _capitalised(first, words)


def word_before(text: str, position: int) -> tuple[int, str] | None:
    """Return start and text of the word directly before `position`; only white space may separate it."""
    match = _PREVIOUS.search(text, max(0, position - _LONGEST_WORD), position)
    return None if match is None else (match.start("word"), match["word"])


def _words_at(text: str, position: int) -> Iterator[_Word]:
    """Yield the words from `position` on. Lazy, because most callers need only the first word."""
    may_touch = True
    for _ in range(_MOST_WORDS + 3):
        match = _NEXT.match(text, position)
        if match is None or not (match["gap"] or may_touch):
            return
        word = match["word"]
        start, position = match.span("word")
        may_touch = word.endswith(".")
        yield _Word(start, position, word, word.lower())


def _capitalised(first: _Word, others: Iterable[_Word]) -> Name | None:
    end, number, initials, given = -1, 0, 0, 0
    for word in chain((first,), others):
        if number + initials == _MOST_WORDS:
            break
        if word.is_initial and word.text[0].isupper():
            initials += 1
        elif word.lowered in PARTICLES and not (word.text.isupper() and len(word.text) > 2):
            continue  # part of the name when another word follows
        elif word.text[0].isupper() and not is_non_name(word.text, word.lowered):
            number += 1
            given += is_given_name(word.text)
        else:
            break
        end = word.end
    return Name(first.start, end, number, initials, given) if number else None


def _lower(first: _Word, others: Iterable[_Word]) -> Name | None:
    end, number, given = -1, 0, 0
    for word in chain((first,), others):
        is_name = is_given_name(word.text)
        if not word.text[0].islower() or word.is_initial or len(word.text) < 2:
            break
        if not is_name and (word.lowered in NON_NAMES or is_common_word(word.lowered)):
            break
        end, number, given = word.end, number + 1, given + is_name
    return Name(first.start, end, number, 0, given) if number else None


def _arabic(text: str, words: Sequence[_Word]) -> Name | None:
    end, number, given, is_joined = -1, 0, 0, False
    for word in words[:_MOST_WORDS]:
        is_name = is_given_name(word.text)
        if is_joined or is_name:
            pass
        elif word.text in _ARABIC_JOINTS:
            is_joined = True
            number += 1
            continue
        elif (
            word.lowered in NON_NAMES
            or is_common_word(word.lowered)
            or (number and not (is_caseless(word.text) and _continues_arabic(text, word, number)))
        ):
            break
        is_joined = False
        end, number, given = word.end, number + 1, given + is_name
    return Name(words[0].start, end, number, 0, given) if end >= 0 else None


def _continues_arabic(text: str, word: _Word, number: int) -> bool:
    """Return whether a word that is in no table may be part of a name: a nisba, or a second word that is not a verb."""
    if word.text.startswith("ال"):
        return len(word.text) >= 5 and (number == 1 or word.text.endswith("ي"))
    is_last = text[word.end : word.end + 1] in ("", "\n", "،", ",", ".", ":", ")", "؛")
    return number < 3 and (is_last or number == 1) and not word.text.startswith((*_ARABIC_VERB, _ARABIC_CONJUNCTION))
