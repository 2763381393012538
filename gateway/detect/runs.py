"""Digits that may belong together: "4111 1111 1111 1111", "529.982.247-25", "+49 (30) 901820".

    (run,) = runs_at("call 030 901820 now", [5])
    run.lengths                 # [3, 6]: groups of digits
    run.gaps                    # [" "]: what stands between them

A run is as long as digits go on with at most three separators between two of them. A date ends it, so do letters; what
is part of a decimal number, a time or an identifier that was found already is not in it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from sovctl.gateway.detect.scan import Pattern

SEPARATORS = r"[ \t\r\n./()-]"
START = Pattern(rf"(?:^|[^0-9A-Za-z])[0-9](?:{SEPARATORS}{{0,3}}[0-9]){{5}}")
"""Six digits or more, for the scanner; its start may be the character before."""

_RUN = re.compile(rf"[0-9]+(?:{SEPARATORS}{{1,3}}[0-9]+)*")
_DIGITS = re.compile(r"[0-9]+")
_ISO_DATE = re.compile(r"(?:1[89]|20)[0-9]{2}([-./])(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12][0-9]|3[01])(?![0-9])")
_DATE = re.compile(r"(?:0?[1-9]|[12][0-9]|3[01])([-./])(?:0?[1-9]|[12][0-9]|3[01])\1(?:1[89]|20)[0-9]{2}(?![0-9])")
_IN_DATES = ("-", ".", "/")
_EXTENSION = re.compile(r"[xX][0-9]{1,6}(?![0-9A-Za-z])")
"""Of a phone number, glued to it: "345-899-3560x4587"."""
_FEWEST_EXTENDED = 3  # digits of the group before it, which "3x4" and "0x1f" have not

# Digits from which on a group beside a colon or comma and another digit is no time or amount, but a list's next field.
_LONGEST_PART = {":": 5, ",": 9}
# Digits from which on several groups are a list's next field as well: no decimals of "12,3540 9021 6060 6123".
_FEWEST_OF_FIELD = 9
_DECIMAL = re.compile(r"[0-9]{3}\.[0-9]{1,2}(?![.0-9])")


def are_thousands(lengths: Sequence[int]) -> bool:
    """True for groups as in 1 234 567 and 12.345.678.901, which are amounts unless something says otherwise."""
    return len(lengths) > 2 and lengths[0] <= 3 and all(length == 3 for length in islice(lengths, 1, None))


class Run:
    """Groups of digits, in order.

    Args:
        starts: where each group begins.
        ends: where each group ends.
    """

    __slots__ = ("_lines", "are_thousands", "ends", "gaps", "lengths", "starts", "text")

    def __init__(self, text: str, starts: list[int], ends: list[int]) -> None:
        self.text = text
        self.starts = starts
        self.ends = ends
        self.lengths = [end - start for start, end in zip(starts, ends, strict=True)]
        """Digits in each group."""
        self.are_thousands = are_thousands(self.lengths)
        """Of all groups; asked for every number in the run, and as long as the run."""
        self.gaps = [text[end:start] for end, start in zip(ends, starts[1:], strict=False)]
        """What stands between each group and the next."""
        self._lines: list[int] | None = None

    def line(self, group: int) -> tuple[int, int]:
        """The groups in the same line as this one: the first, and the one after the last."""
        if self._lines is None:
            breaks = [index for index, gap in enumerate(self.gaps, 1) if "\n" in gap or "\r" in gap]
            self._lines = [0, *breaks, len(self.starts)]
        place = bisect_right(self._lines, group)
        return self._lines[place - 1], self._lines[place]

    def without(self, spans: Iterable[tuple[int, int]]) -> list[Run]:
        """The runs that are left when the groups in `spans` are taken out."""
        left: list[Run] = []
        starts: list[int] = []
        ends: list[int] = []
        taken = Spans(spans)
        for start, end in zip(self.starts, self.ends, strict=True):
            if taken.meet(start, end):
                if starts:
                    left.append(Run(self.text, starts, ends))
                starts, ends = [], []
            else:
                starts.append(start)
                ends.append(end)
        return [*left, Run(self.text, starts, ends)] if starts else left

    def digits(self, first: int, last: int) -> str:
        """The digits of the groups from `first` to `last`."""
        starts, ends = self.starts, self.ends
        if first == last:
            return self.text[starts[first] : ends[first]]
        return "".join([self.text[starts[index] : ends[index]] for index in range(first, last + 1)])


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

    def hold(self, start: int, end: int) -> bool:
        """True when one of them has all of `start:end`."""
        index = bisect_right(self._ends, start)
        return index < len(self._starts) and self._starts[index] <= start and end <= self._ends[index]

    def meet(self, start: int, end: int) -> bool:
        """True when one of them shares a character with `start:end`."""
        index = bisect_right(self._ends, start)
        return index < len(self._starts) and self._starts[index] < end


def runs_at(text: str, places: Sequence[int], taken: Spans) -> Iterator[Run]:
    """The runs that begin at or right behind `places`.

    Args:
        places: sorted.
        taken: what is an identifier already; a run ends before and begins after one.
    """
    done = 0
    for place in places:
        if place < done:
            continue
        match = _RUN.search(text, place)
        if match is None:
            return
        start, done = match.span()
        if not taken.hold(start, done) and not _is_date(text, start, done, taken):
            yield from _pieces(text, start, done, taken)


def _is_date(text: str, start: int, end: int, taken: Spans) -> bool:
    """True when all of a run is a date, so that nothing is left of it."""
    date = _DATE.fullmatch(text, start, end) or _ISO_DATE.fullmatch(text, start, end)
    return date is not None and not (_is_part(text, start, date.start(1)) or taken.meet(start, end))


def _pieces(text: str, start: int, end: int, taken: Spans) -> Iterator[Run]:
    """The run without dates, parts of other numbers, and what is taken."""
    starts: list[int] = []
    ends: list[int] = []
    skip_to = 0
    is_taken = taken.meet(start, end)
    is_field = _is_field(text, start, end)
    for match in _DIGITS.finditer(text, start, end):
        first, last = match.span()
        is_apart = first < skip_to or (is_taken and taken.meet(first, last))
        is_apart = is_apart or _is_part(text, first, last, is_field=is_field)
        may_be_date = last - first <= 4 and text[last : last + 1] in _IN_DATES
        if may_be_date and not is_apart and (date := (_ISO_DATE if last - first > 2 else _DATE).match(text, first)):
            skip_to, is_apart = date.end(), True
        if is_apart:
            if starts:
                yield Run(text, starts, ends)
            starts, ends = [], []
        else:
            starts.append(first)
            ends.append(last)
    if starts:
        yield Run(text, starts, ends)


def _is_field(text: str, start: int, end: int) -> bool:
    """True when commas part a run from its neighbours in a list, so that they are no decimal commas."""
    if "," not in (text[start - 1 : start], text[end : end + 1]):
        return False
    lengths = [len(group) for group in _DIGITS.findall(text, start, end)]
    if "\n" in text[start:end] or _DECIMAL.search(text, start, end):
        return False
    return len(lengths) > 1 and sum(lengths) >= _FEWEST_OF_FIELD and not are_thousands(lengths)


def _is_part(text: str, start: int, end: int, *, is_field: bool = False) -> bool:
    """True for digits that letters touch, and for parts of times and decimal numbers: `x1`, 10:30, 1,5.

    Args:
        is_field: a comma beside them parts two fields.
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
