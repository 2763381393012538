"""The text as finders receive it, with a map of its spans to the original text.

    view = NormalizedText("to anna\\\\u0040example.com").replaced([(7, 13, "@")])
    view.text               # "to anna@example.com"
    view.span(3, 19)        # (3, 24): the span of the address in the original

A view is derived from the original, or from another view, by replacing parts of it. It stores only the changed parts,
so a view of a long text with one change is cheap; a view whose parts keep their length stores no offsets.
`deobfuscation`, `escapes` and `base64_hex` describe the disguises that are undone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter

from ...domain.work import spend
from ...tokens.search import find_tokens
from .words import Words, words_of

_WORDS = re.compile(r"[^\W_](?:.*[^\W_])?", re.DOTALL)  # without the spaces and marks around them

_END = itemgetter(1)
_EDIT_WORK = 3  # units of work of an edit, with the search for it

APART = f"\n{'~' * 96}\n"
"""Between texts that are read as one: wider than any rule looks around for words."""

Edit = tuple[int, int, str]
"""Start, end, and replacement."""


@dataclass(eq=False)
class NormalizedText:
    """The text as finders receive it, in short a view."""

    text: str
    _origin: NormalizedText | None = field(default=None, repr=False)
    """View from which this view was made; None for the original text or one of equal length."""
    _places: Sequence[int] = field(default=(), repr=False)
    """Offsets of the parts of `text`, sorted; kept and replaced parts alternate."""
    _spans: Sequence[tuple[int, int, bool]] = field(default=(), repr=False)
    """For each piece its span in the origin, and whether it was replaced."""

    runs: Sequence[tuple[int, int]] | None = field(default=None, repr=False)
    """Long runs of letters and digits, as defined by `base64_hex`; None before the search for them."""

    @property
    def is_original(self) -> bool:
        """Whether its spans equal those of the original text."""
        return self._origin is None

    @cached_property
    def tokens(self) -> Sequence[tuple[int, int]]:
        """Spans of the gateway's own tokens, in order: their letters and digits are not identifiers."""
        return [(token.start, token.end) for token in find_tokens(self.text)] if "_" in self.text else []

    @cached_property
    def words(self) -> Words:
        """The text as words, with small letters where our tokens stand: they end in letters as names do (`..TANA`)."""
        if not self.tokens:
            return words_of(self.text)
        pieces: list[str] = []
        position = 0
        for start, end in self.tokens:
            pieces += (self.text[position:start], "x" * (end - start))
            position = end
        return words_of("".join((*pieces, self.text[position:])))

    def words_outside_tokens(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the words of a span that are not tokens: of `PERSON_...'s Nordmann` the second.

        For model finders, which may return a token and the name next to it as one name.
        """
        parts = []
        tokens = self.tokens
        number = bisect_right(tokens, start, key=_END)
        while number < len(tokens) and tokens[number][0] < end:
            first, last = tokens[number]
            if start < last:
                parts.append((start, _word_start(self.text, first)))
                start = _word_end(self.text, last)
            number += 1
        for first, last in (*parts, (start, end)):
            if words := _WORDS.search(self.text, first, last):
                yield words.span()

    def replaced(self, edits: Sequence[Edit]) -> NormalizedText:
        """Return a view of this view with parts replaced.

        Args:
            edits: sorted, none overlapping, each of at least one character of this view.
        """
        spend(_EDIT_WORK * len(edits))
        pieces: list[str] = []
        places: list[int] = []
        spans: list[tuple[int, int, bool]] = []
        position = length = 0
        for start, end, plain in edits:
            if position < start:
                pieces.append(self.text[position:start])
                places.append(length)
                spans.append((position, start, False))
                length += start - position
            if plain:
                pieces.append(plain)
                places.append(length)
                spans.append((start, end, True))
                length += len(plain)
            position = end
        if position < len(self.text):
            pieces.append(self.text[position:])
            places.append(length)
            spans.append((position, len(self.text), False))
        return NormalizedText("".join(pieces), self, places, spans)

    def respelled(self, text: str) -> NormalizedText:
        """Return the same view with other characters in the same positions.

        Args:
            text: as long as this view's.
        """
        return NormalizedText(text, self._origin, self._places, self._spans)

    def may_hold_run(self, length: int) -> bool:
        """Return False if nowhere so many letters and digits stand together."""
        return self.runs is None or any(end - start >= length for start, end in self.runs)

    def decoded(self, pieces: Sequence[Edit]) -> NormalizedText:
        """A view of nothing but these pieces, so far apart that none says anything of another; every character stands
        for its whole piece."""
        spend(_EDIT_WORK * len(pieces))
        places, length = [], 0
        for _, _, plain in pieces:
            places.append(length)
            length += len(plain) + len(APART)
        spans = [(start, end, True) for start, end, _ in pieces]
        return NormalizedText(APART.join(plain for _, _, plain in pieces), self, places, spans)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original of the non-empty `text[start:end]`; a replaced part counts as a whole."""
        if self._origin is None:
            return start, end
        first = bisect_right(self._places, start) - 1
        last = bisect_right(self._places, end - 1) - 1
        first_start, _, is_first_replaced = self._spans[first]
        last_start, last_end, is_last_replaced = self._spans[last]
        return self._origin.span(
            first_start if is_first_replaced else first_start + start - self._places[first],
            last_end if is_last_replaced else last_start + end - self._places[last],
        )


def _word_start(text: str, place: int) -> int:
    """Return the start of the word that ends with a token."""
    while place and _is_of_word(text[place - 1]):
        place -= 1
    return place


def _word_end(text: str, place: int) -> int:
    """Return the end of the word that begins with a token."""
    while place < len(text) and _is_of_word(text[place]):
        place += 1
    return place


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character in "'\u2019"
