"""Finds identifiers that remain in the text that would leave.

    outcome = judge(document, replacement)
    outcome.leaked          # [False, True]: one for each span

**Leaked**: the value is still there after both sides were normalised: NFKD, case folded, digits of any script as ASCII,
and everything but letters and digits omitted (`gateway.md` 3.2). That also counts a value that was replaced
where it is annotated and stands somewhere else in the same text. Our tokens are taken out first, so nothing joins
across one. **Partial**: not that, but a letter or a digit of the span was not replaced.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.judging.documents import Document, Span

_GAP = "\x00"  # stands for a token; taken out of texts and values

Interval = tuple[int, int]


def normalise(text: str) -> str:
    """Letters and digits of `text` in one form."""
    if text.isascii():
        return "".join(sign for sign in text if sign.isalnum() or sign == _GAP).lower()
    shown: list[str] = []
    # Decomposed, because composition depends on adjacent characters; marks are not letters and are omitted.
    for character in unicodedata.normalize("NFKD", text):
        if character == _GAP:
            shown.append(_GAP)
        elif (digit := unicodedata.decimal(character, None)) is not None:
            shown.append(str(digit))
        else:
            shown += filter(str.isalnum, character.casefold())
    return "".join(shown)


@dataclass(frozen=True)
class Replacement:
    """The replaced spans of one text."""

    intervals: Sequence[Interval]
    """Of the original, sorted, none overlapping."""
    entity_types: Sequence[str]
    """The entity type of each."""
    categories: Mapping[str, int] = field(default_factory=dict)
    """Mentions of special categories of personal data next to a person, by category."""


@dataclass
class Outcome:
    """One document, judged."""

    leaked: list[bool] = field(default_factory=list)
    partial: list[bool] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)
    """Span by span: replaced from its first to its last character and no further."""
    touched: list[bool] = field(default_factory=list)
    """Span by span: some of it was replaced."""
    false_types: list[str] = field(default_factory=list)
    """Entity types of the replacements outside of all spans."""
    predicted: int = 0
    predicted_exact: int = 0
    predicted_touching: int = 0
    words: int = 0
    over_masked: int = 0
    """Letters and digits replaced outside of all spans."""
    ordinary: int = 0
    """Letters and digits outside of all spans."""
    categories: Mapping[str, int] = field(default_factory=dict)
    """Mentions of special categories that were found."""


def judge(document: Document, replacement: Replacement) -> Outcome:
    """Compare what was replaced with what is there."""
    text, intervals = document.text, replacement.intervals
    kept = normalise(_without(text, intervals))
    spans = _merged(document.spans)
    outcome = Outcome(words=len(text.split()), predicted=len(intervals), categories=replacement.categories)
    exact = set(intervals)
    for span in document.spans:
        value = normalise(text[span.start : span.end].replace(_GAP, ""))
        is_leaked = bool(value) and value in kept
        rest = any(text[at].isalnum() for at in _uncovered(span, intervals))
        outcome.leaked.append(is_leaked)
        outcome.partial.append(rest and not is_leaked)
        outcome.exact.append((span.start, span.end) in exact)
        outcome.touched.append(_touches((span.start, span.end), intervals))
    annotated = {(span.start, span.end) for span in document.spans}
    for interval, entity_type in zip(intervals, replacement.entity_types, strict=True):
        outcome.predicted_exact += interval in annotated
        if _touches(interval, spans):
            outcome.predicted_touching += 1
        else:
            outcome.false_types.append(entity_type)
    covered, gold = _marks(len(text), intervals), _marks(len(text), spans)
    for at, character in enumerate(text):
        if not gold[at] and character.isalnum():
            outcome.ordinary += 1
            outcome.over_masked += covered[at]
    return outcome


def _without(text: str, intervals: Sequence[Interval]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in intervals:
        pieces += (text[position:start].replace(_GAP, ""), _GAP)
        position = end
    return "".join([*pieces, text[position:].replace(_GAP, "")])


def _merged(spans: Sequence[Span]) -> list[Interval]:
    merged: list[Interval] = []
    for span in spans:
        if merged and span.start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], span.end))
        else:
            merged.append((span.start, span.end))
    return merged


def _touches(one: Interval, others: Sequence[Interval]) -> bool:
    """Return whether `one` shares a character with one of `others`, which are sorted and do not overlap."""
    place = bisect_right(others, one[0], key=lambda other: other[1])
    return place < len(others) and others[place][0] < one[1]


def _uncovered(span: Span, intervals: Sequence[Interval]) -> list[int]:
    covered = {at for start, end in intervals for at in range(max(start, span.start), min(end, span.end))}
    return [at for at in range(span.start, span.end) if at not in covered]


def _marks(length: int, intervals: Sequence[Interval]) -> bytearray:
    marks = bytearray(length)
    for start, end in intervals:
        marks[start:end] = b"\x01" * (end - start)
    return marks
