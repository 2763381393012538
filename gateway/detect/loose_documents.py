"""Numbers of passports, driving licences and cars that have hardly a form: what stands beside the word.

    list(beside("licence plate YO53 PRH", 0))        # [(14, 22)]

Digits and capitals mixed are everywhere, so they are looked for only where one of these words is near; `documents` then
asks what the words around them say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sovctl.gateway.detect.context import named_topics
from sovctl.gateway.detect.scan import Pattern

_TOPICS = ("passport", "licence", "plate")
_FEWEST_LETTERS = 4  # of a word; shorter ones are parts of too many
_BEHIND, _BEFORE = 56, 40  # characters between
_ANY_GAP = {"_": "[ _.'-]?"}

# Groups of capitals and digits, as "YO53 PRH", "C867-4460-7131", "А123ВС 77", "沪A-12345".
_CAPITALS = "0-9A-ZÄÖÜА-Я"
_NUMBER = re.compile(
    rf"(?<![\w-])[\u4e00-\u9fff]?[{_CAPITALS}]{{1,20}}(?:[ ·-][{_CAPITALS}]{{1,9}}){{0,3}}(?![{_CAPITALS}a-zа-я_])"
)
_NORM = re.compile(r"(?:19|20)[0-9]{2} |(?:ISO|DIN|EN|IEC|RFC|VDE|BS|ANSI|NF|UNE|ГОСТ)[ -]?[0-9]")
"""A year and the word behind it, or what standards are called."""
_FEWEST = 4  # letters and digits; those of passports are counted in `documents`


def _expression(word: str) -> str:
    return "".join(_ANY_GAP.get(c, re.escape(c)) for c in word.strip("*"))


def _words() -> Pattern:
    words = {word for topic in _TOPICS for word in named_topics()[topic] if len(word.strip("*")) >= _FEWEST_LETTERS}
    words |= {form for word in words if not word.isascii() for form in (word.upper(), word[:1].upper() + word[1:])}
    return Pattern("|".join(sorted(map(_expression, words))))


WORDS = _words()
"""Where one of the words stands, or begins."""


def beside(text: str, word: int) -> Iterator[tuple[int, int]]:
    """Spans of what may be such a number behind the word at `text[word]`, the nearest first; then before it."""
    end = min(len(text), word + _BEHIND)
    yield from _numbers(text, word, end)
    line = text.rfind("\n", max(0, word - _BEFORE), word) + 1
    yield from reversed(list(_numbers(text, max(line, word - _BEFORE), word)))


def _numbers(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    for match in _NUMBER.finditer(text, first, last):
        start, end = match.span()
        if _NORM.match(text, start):
            continue
        written = text[start:end]
        # Words in capitals may stand on either side of it.
        while (words := re.split("[ ]", written)) and len(words) > 1 and words[0].isalpha() and len(words[0]) > 3:
            start += len(words[0]) + 1
            written = text[start:end]
        if sum(map(str.isalnum, written)) < _FEWEST or not any(map(str.isdigit, written)):
            continue
        if any(map(str.isalpha, written)):
            yield start, end
