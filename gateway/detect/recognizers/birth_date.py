"""Recognizes dates of birth: a date next to a word for birth.

A date alone is not personal data. It counts if a word next to it names a birth: "born 12 May 1980",
"дата рождения: 12.05.1980", "12.05.1980 г.р.".
"""

from __future__ import annotations

import re

from ...domain.entities import EntityType
from ..context.surroundings import TextContext
from ..context.topics import Topics
from ..findings.finding import Finding
from ..text.scanner import Pattern
from ..text.words import is_inside_word

_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_YEAR = r"(?:1[89]|20|2[45])[0-9]{2}"
"""Of the Gregorian calendar, or of the Buddhist era: 543 more (Thailand's official calendar)."""
_DATE = re.compile(
    rf"(?:{_YEAR}([-./年])\s?{_DAY}[-./月]\s?{_DAY}日?|{_DAY}([-./])\s?{_DAY}\2\s?(?:{_YEAR}|[0-9]{{2}})"
    rf"|{_DAY}(?:st|nd|rd|th|er|\.|º|-?(?:го|е))?\s(?:de\s|of\s|d')?[^\W\d_]{{3,12}}\.?,?\s(?:de\s|del\s)?{_YEAR}"
    rf"|[^\W\d_]{{3,12}}\.?\s{_DAY}(?:st|nd|rd|th)?,?\s{_YEAR}"
    rf"|{_YEAR}\.\s[^\W\d_]{{3,12}}\s{_DAY}"
    rf"|{_DAY}\s?(?:เดือน\s?)?[\u0e01-\u0e4e.]{{3,14}}\s?(?:(?:พ\.?ศ\.?|ปี)\s?)?{_YEAR})"
    r"(?![0-9A-Za-z]|[-./][0-9]|[ T]?[0-9]{2}:)"
)
_WORD = r"[A-Za-z\x80-\xff]{3,24}"
_SCORE = 0.7
_REACH = 64  # characters before a date in which another one takes the word: `context` reads no farther
_OTHER = re.compile(
    rf"(?:[0-9]{{1,2}}[-./]\s?[0-9]{{1,2}}[-./]\s?[0-9]{{2,4}}|{_YEAR}[-./][0-9]{{1,2}}[-./][0-9]{{1,2}})(?![0-9])"
)
_LETTERS = re.compile(r"[^\W\d_]{4}")  # more than "and" and "und" between two dates


def is_date(written: str) -> bool:
    """Return whether all of `written` is a date, in digits or with a month's name."""
    return _DATE.fullmatch(written.rstrip(".")) is not None


class BirthDateRecognizer:
    """Finds dates of birth."""

    rules = ("BIRTH_DATE",)
    patterns = (
        Pattern(r"[0-9]{1,2}[-./] ?[0-9]{1,2}[-./] ?[0-9]{2}"),
        Pattern(r"[0-9]{4}(?:[-./]|\xe5\xb9\xb4) ?[0-9]{1,2}(?:[-./]|\xe6\x9c\x88) ?[0-9]{1,2}"),
        Pattern(rf"[0-9]{{1,2}}[^0-9 ]{{0,4}} (?:de |of |d')?{_WORD}\.?,? (?:de |del )?(?:1[89]|20)[0-9]{{2}}"),
        Pattern(rf"{_WORD}\.? [0-9]{{1,2}}(?:st|nd|rd|th)?,? (?:1[89]|20)[0-9]{{2}}"),
        Pattern(rf"(?:1[89]|20)[0-9]{{2}}\. {_WORD} [0-9]{{1,2}}"),
        Pattern(r"[0-9]{1,2} ?\xe0[\xb8\xb9][\x80-\xbf]"),  # a Thai letter: a month may begin
    )

    def __init__(self, topics: Topics) -> None:
        self._birth, self._order = topics.mask("@birth"), topics.mask("@order")

    def at(self, text: str, start: int, _pattern: int, context: TextContext) -> Finding | None:
        """The date of birth that begins at `start`."""
        match = _DATE.match(text, start)
        if match is None or is_inside_word(text, start, match.end()):
            return None
        end = match.end()
        words = context(start, end)
        said = words.before if not words.closest & self._order else 0  # "date of birth of the patient"
        if not (words.closest | words.after | said) & self._birth:
            return None
        if not (words.before | words.after) & self._birth and _is_taken(text, start):
            return None
        return Finding(start, end, EntityType.BIRTH_DATE, _SCORE, " ".join(match.group().split()), "BIRTH_DATE")


def _is_taken(text: str, start: int) -> bool:
    """Return whether the word before `start` refers to another date only: "born 12.05.1980, since 01.04.2019"."""
    others = list(_OTHER.finditer(text, max(0, start - _REACH), start))
    return bool(others) and _LETTERS.search(text, others[-1].end(), start) is not None
