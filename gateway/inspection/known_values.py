"""Values that were found in one text of a request, and their occurrences in its other texts.

An occurrence must not be a part of a longer word. So the words of a text are looked up in an index, and a text is read
once, whatever the number of values. For few values, a search for each of them is faster.

    known = KnownValues()
    known.add("DE89370400440532013000", finding)
    list(known.find("again: DE89370400440532013000"))      # [(7, 29, finding)]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice

from ..detect.findings.finding import Finding
from ..domain.work import spend

_WORD = re.compile(r"\w+")  # the characters of `is_word`
# Nanoseconds, measured 2026-11: a search of a text for one value, and one look-up of each word.
_SEARCH, _SEARCH_CHARACTERS = 100, 2
_LOOK_UP, _LOOK_UP_CHARACTER = 500, 40
_UNIT = 1_000  # nanoseconds of a unit of work

Occurrence = tuple[int, int, Finding]
"""Start, end, and the finding by which the value is known."""


class KnownValues:
    """Values by their text, each with the first finding of it."""

    def __init__(self) -> None:
        self._origins: dict[str, Finding] = {}
        self._indexed = 0
        """Number of values in the index, which is built on first use."""
        self._by_word: dict[str, dict[int, dict[int, set[str]]]] = {}
        self._wordless: list[str] = []

    def __len__(self) -> int:
        return len(self._origins)

    def add(self, value: str, origin: Finding) -> None:
        """Add a value, if it is not known yet."""
        self._origins.setdefault(value, origin)

    def _index(self) -> None:
        for value in islice(self._origins, self._indexed, None):
            word = _WORD.search(value)
            if word is None:
                self._wordless.append(value)
            else:
                by_offset = self._by_word.setdefault(word[0], {})
                by_offset.setdefault(word.start(), {}).setdefault(len(value), set()).add(value)
        self._indexed = len(self._origins)

    def by_hash(self) -> dict[int, str]:
        """Return the values by keyed hashes of the value and its finding, without the place of the finding."""
        return {hash((value, *origin[2:])): value for value, origin in self._origins.items()}

    def find(self, text: str) -> Iterator[Occurrence]:
        """Yield every occurrence of every value, overlapping ones included; in no order."""
        if is_search_faster(len(self._origins), len(text)):
            yield from self.find_each(text, self._origins)
        else:
            yield from self.find_all(text)

    def find_each(self, text: str, values: Collection[str]) -> Iterator[Occurrence]:
        """Yield the occurrences of these values, searching for one after the other."""
        if units := len(text) * _SEARCH_CHARACTERS // _UNIT // 4:
            spend(units * len(values))
        for value in values:
            start = text.find(value)
            while start >= 0:
                end = start + len(value)
                if not is_inside(text, start, end):
                    yield start, end, self._origins[value]
                start = text.find(value, start + 1)

    def find_all(self, text: str) -> Iterator[Occurrence]:
        """Yield the same occurrences, reading the text once."""
        spend(len(text) * _LOOK_UP_CHARACTER // _UNIT)
        if self._indexed < len(self._origins):
            self._index()
        by_word, origins = self._by_word, self._origins
        if not by_word.keys().isdisjoint(_WORD.findall(text)):
            for word in _WORD.finditer(text):
                by_offset = by_word.get(word[0])
                if by_offset is None:
                    continue
                for offset, by_length in by_offset.items():
                    start = word.start() - offset
                    if start < 0 or (offset and is_word(text[start - 1 : start])):
                        continue
                    spend(len(by_length))
                    for length, values in by_length.items():
                        value = text[start : start + length]
                        if value in values and not is_word(text[start + length : start + length + 1]):
                            yield start, start + length, origins[value]
        yield from self.find_each(text, self._wordless)


def is_search_faster(values: int, length: int) -> bool:
    """Return whether a text of this length is searched for each value, and not read word by word."""
    return values * (_SEARCH + length // _SEARCH_CHARACTERS) < _LOOK_UP + length * _LOOK_UP_CHARACTER


def is_word(character: str) -> bool:
    """Return whether a character, if any, is a letter, a digit or an underscore."""
    return character.isalnum() or character == "_"


def is_inside(text: str, start: int, end: int) -> bool:
    """Return whether a span is a part of a longer word."""
    return is_word(text[start - 1 : start]) or is_word(text[end : end + 1])
