"""Runs of digits that may be one number: "4111 1111 1111 1111", "529.982.247-25", "+49 (30) 901820".

    (run,) = runs_at("call 030 901820 now", [5], Spans([]))
    run.lengths                 # [3, 6]: groups of digits
    run.gaps                    # [" "]: separators between the groups

A run continues while at most four separators (a blank line in CR LF) are between two digits. Dates and letters end it.
Parts of decimal numbers, of times and of identifiers that were found before are excluded.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, repeat

from ...domain.work import spend
from ..text.scanner import Pattern

SEPARATORS = r"[ \t\r\n./()-]"
START = Pattern(rf"(?:^|[^0-9A-Za-z])[0-9](?:{SEPARATORS}{{0,4}}[0-9]){{5}}")
"""Six digits or more, for the scanner; its start may be the character before."""

_RUN = re.compile(rf"[0-9]+(?:{SEPARATORS}{{1,4}}[0-9]+)*")
_GAP = re.compile(r"([^0-9]+)")
_DATE = re.compile(
    r"(?:(?:1[89]|20)[0-9]{2}([-./])(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12][0-9]|3[01])"
    r"|(?:0?[1-9]|[12][0-9]|3[01])([-./])(?:0?[1-9]|[12][0-9]|3[01])\2(?:1[89]|20)[0-9]{2})(?![0-9])"
)
_LONGEST_DATE = 10  # characters
_DATE_SIGNS = frozenset("-./")
_IN_DATE = re.compile(r"([-./])(?:(?<=[0-9]{4}.)(?=[0-9]{1,2}\1[0-9])|(?=[0-9]{1,2}\1[0-9]{4}))")
"""The first sign of a date, and of what may be none."""
_EXTENSION = re.compile(r"[xX][0-9]{1,6}(?![0-9A-Za-z])")
"""Extension attached to a phone number: "345-899-3560x4587"."""
_BESIDE_PART = re.compile("[0-9A-Za-z:,]")
"""Characters next to a part of something else, and next to other digits."""
_FEWEST_EXTENDED = 3  # digits of the group before it, which "3x4" and "0x1f" have not

# Least digits of a group next to a colon or comma and another digit that make it a list's next field, not a time or an
# amount.
_LONGEST_PART = {":": 5, ",": 9}
# Digits from which on several groups are a list's next field as well: no decimals of "12,3540 9021 6060 6123".
_FEWEST_OF_FIELD = 9
_DECIMAL = re.compile(r"[0-9]{3}\.[0-9]{1,2}(?![.0-9])")


def are_thousands(lengths: Sequence[int]) -> bool:
    """Return whether groups have the form of 1 234 567 or 12.345.678.901: amounts, unless the context differs."""
    return len(lengths) > 2 and lengths[0] <= 3 and lengths[1:].count(3) == len(lengths) - 1


class DigitRun:
    """Groups of digits, in order: all there are in `text[start:end]`.

    Args:
        start: where the first group begins.
        end: where the last one ends.
    """

    __slots__ = ("_lines", "_shape", "are_thousands", "ends", "gaps", "groups", "lengths", "starts", "text")

    def __init__(self, text: str, start: int, end: int) -> None:
        parts = _GAP.split(text[start:end])
        sizes = list(map(len, parts))
        places = list(accumulate(sizes, initial=start))
        self.text = text
        self.starts = places[::2]
        self.ends = places[1::2]
        self.gaps = parts[1::2]
        """Separators between each group and the next."""
        self.groups = parts[::2]
        """The digits of each."""
        self.lengths = sizes[::2]
        """Digits in each group."""
        self.are_thousands = are_thousands(self.lengths)
        """Digits of all groups; cached, because every number in the run needs them."""
        self._lines: list[int] | None = None
        self._shape: bytes | None = None

    @property
    def shape(self) -> bytes:
        """Digits in each group, to be searched for what several groups look like; more than 255 count as 255."""
        if self._shape is None:
            self._shape = bytes(map(min, self.lengths, repeat(255)))
        return self._shape

    def line(self, group: int) -> tuple[int, int]:
        """Return the first group in the same line, and the group after the last."""
        if self._lines is None:
            broken = {gap for gap in set(self.gaps) if "\n" in gap or "\r" in gap}
            breaks = [index for index, gap in enumerate(self.gaps, 1) if gap in broken] if broken else []
            self._lines = [0, *breaks, len(self.starts)]
        place = bisect_right(self._lines, group)
        return self._lines[place - 1], self._lines[place]

    def first_line(self) -> DigitRun:
        """Return the groups before the first line break."""
        _, end = self.line(0)
        return self if end == len(self.starts) else DigitRun(self.text, self.starts[0], self.ends[end - 1])

    def without(self, spans: Iterable[tuple[int, int]]) -> list[DigitRun]:
        """Return the runs that remain after the groups in `spans` are removed."""
        left: list[DigitRun] = []
        starts, ends, first = self.starts, self.ends, 0
        for start, end in sorted(spans):
            taken, free = bisect_right(ends, start), bisect_left(starts, end)
            if taken < free:
                if first < taken:
                    left.append(DigitRun(self.text, starts[first], ends[taken - 1]))
                first = max(first, free)
        if first < len(starts):
            left.append(DigitRun(self.text, starts[first], ends[-1]))
        return left

    def digits(self, first: int, last: int) -> str:
        """Return the digits of the groups from `first` to `last`."""
        return self.groups[first] if first == last else "".join(self.groups[first : last + 1])


class Spans:
    """Places that are taken."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(spans):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def within(self, start: int, end: int) -> Iterable[tuple[int, int]]:
        """Return the spans that overlap `start:end`."""
        these = slice(bisect_right(self._ends, start), bisect_left(self._starts, end))
        return zip(self._starts[these], self._ends[these], strict=True)

    def contains(self, start: int, end: int) -> bool:
        """Return whether one of them has all of `start:end`."""
        index = bisect_right(self._ends, start)
        return index < len(self._starts) and self._starts[index] <= start and end <= self._ends[index]

    def overlaps(self, start: int, end: int) -> bool:
        """Return whether one of them shares a character with `start:end`."""
        index = bisect_right(self._ends, start)
        return index < len(self._starts) and self._starts[index] < end


def runs_at(text: str, places: Sequence[int], taken: Spans) -> Iterator[DigitRun]:
    """Return the runs that begin at or directly after `places`.

    Args:
        places: sorted.
        taken: what is an identifier already; a run ends before and begins after one.
    """
    done = 0
    spend(len(places))
    for place in places:
        if place < done:
            continue
        match = _RUN.search(text, place)
        if match is None:
            return
        start, done = match.span()
        if not taken.contains(start, done) and not _is_date(text, start, done, taken):
            yield from _pieces(DigitRun(text, start, done), taken)


def _is_date(text: str, start: int, end: int, taken: Spans) -> bool:
    """Return whether all of a run is a date, so that nothing is left of it."""
    if end - start > _LONGEST_DATE or (date := _DATE.fullmatch(text, start, end)) is None:
        return False
    return not (_is_part(text, start, date.start(date.lastindex or 0)) or taken.overlaps(start, end))


def _pieces(run: DigitRun, taken: Spans) -> Sequence[DigitRun]:
    """Return the run without dates, parts of other numbers, and groups already taken."""
    text, starts, ends = run.text, run.starts, run.ends
    start, end = starts[0], ends[-1]
    left_out = [*taken.within(start, end)] if taken.overlaps(start, end) else []
    # Separators surround every group within a run, so only the first and the last group can be parts of something else.
    if _BESIDE_PART.search(text[start - 1 : start] + text[end : end + 1]):
        is_field, first_end = _is_field(run), ends[0]
        if len(starts) > 1 and _is_part(text, starts[-1], end, is_field=is_field):
            left_out.append((starts[-1], end))
        if _is_part(text, start, first_end, is_field=is_field):
            left_out.append((start, first_end))
            start = first_end
    if not _DATE_SIGNS.isdisjoint(run.gaps):
        for sign in _IN_DATE.finditer(text, start, end):
            first = starts[bisect_left(ends, sign.start())]
            if first >= start and not taken.overlaps(first, sign.start()) and (date := _DATE.match(text, first)):
                start = date.end()
                left_out.append((first, start))
    return run.without(left_out) if left_out else (run,)


def _is_field(run: DigitRun) -> bool:
    """Return whether commas separate a run from its neighbours in a list, so that they are not decimal commas."""
    text, start, end = run.text, run.starts[0], run.ends[-1]
    if "," not in (text[start - 1 : start], text[end : end + 1]):
        return False
    if "\n" in text[start:end] or _DECIMAL.search(text, start, end):
        return False
    return len(run.lengths) > 1 and sum(run.lengths) >= _FEWEST_OF_FIELD and not run.are_thousands


def _is_part(text: str, start: int, end: int, *, is_field: bool = False) -> bool:
    """Return whether the digits touch letters, or are parts of times or decimal numbers: `x1`, 10:30, 1,5.

    Args:
        is_field: a comma next to them separates two fields.
    """
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    length = end - start
    if before.isalnum() and before.isascii():
        return True
    if after.isalnum() and after.isascii():
        return length < _FEWEST_EXTENDED or _EXTENSION.match(text, end) is None
    signs = ":" if is_field else ":,"
    if before in signs and start > 1 and text[start - 2].isdigit():
        return length < _LONGEST_PART[before]
    return after in signs and end + 1 < len(text) and text[end + 1].isdigit() and length < _LONGEST_PART[after]
