"""Finds identifiers in a run of digits by the schemes.

    finder = NumberFinder(NUMBERS, topics)
    finder.find(run, around)

A candidate is a sequence of groups of a run. The number of its digits selects the schemes; the scheme's check decides.
The candidate's punctuation and the words around it determine whether that is enough (`validators.scheme.Needs`):

    shape   groups and punctuation are its issuer's: 529.982.247-25
    loose   groups are its issuer's, or there is one group
    odd     grouped in no known way ("41 11 11 ..."): only a whole run counts, and only with something to support it
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...domain.entities import EntityType
from ...domain.work import spend
from ..context.surroundings import TextContext
from ..context.topics import FARTHEST_AFTER, FARTHEST_BEFORE, Topics
from ..findings.finding import Finding
from ..validators.scheme import Needs, Number
from .amounts import are_years, is_amount, is_of_uuid
from .digit_runs import DigitRun
from .numeric_tables import LONGEST_SAMPLE, are_most, is_within_row, without_chance

_SCORE_OWN_WORD, _SCORE_WORD, _SCORE_SHAPE, _SCORE_ALONE = 1.0, 0.97, 0.95, 0.9
_NEVER_ORDERED = frozenset({EntityType.CARD, EntityType.ACCOUNT})  # also after "order": the harm is too great
_JUDGED_WORK = 20  # units of work: schemes of some groups
_FEWEST_OF_CARD = 15  # digits; parcels and goods have 12 to 14, hardly a card does today
_FEWEST_OF_NO_AMOUNT = 13  # digits; a thousand thousand millions are not a balance
# "INV-2024-44051401359", a part of a UUID: a word with a digit before a hyphen makes the whole a code.
_CODE_BEFORE = re.compile(r"[0-9A-Za-z]*[0-9][0-9A-Za-z]*[-_/.]\Z")
# When something happened: (yy)yymmddHHMM(SS) of the years 2020 to 2035, and seconds since 1970 from 2017 to 2033.
_TIMESTAMP = re.compile(
    r"(?:20)?(?:2[0-9]|3[0-5])(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[01][0-9]|2[0-3])(?:[0-5][0-9]){1,2}"
    r"|1[5-9][0-9]{8}"
)
_CODE_AFTER = re.compile(r"[-_][0-9A-Za-z]")
_BREAKS = frozenset({"\t", "\n", "\r"})
_JOINTS = frozenset(" ./()-")
"""Separators of the groups of one number; breaks only if the number is the whole run."""
_JOINTS_OF_ALL = _JOINTS | _BREAKS


class _Judged(NamedTuple):
    """A scheme as the finder needs it."""

    number: Number
    mask: int
    own: int
    """Topics of this scheme alone."""
    shapes: dict[tuple[int, ...], frozenset[tuple[str, ...]]]


class _Schemes:
    """Schemes of the same digits."""

    __slots__ = ("all", "bare", "mask", "shaped", "written")

    def __init__(self) -> None:
        self.all: list[_Judged] = []
        self.bare: list[_Judged] = []
        """Schemes that need no context in any notation."""
        self.shaped: list[_Judged] = []
        """Schemes that need no context, some of them only in the issuer's punctuation."""
        self.written: set[tuple[str, ...]] = set()
        """Punctuation in which a scheme of `shaped` needs no context, by shape."""
        self.mask = 0
        """The topics that support one of them."""

    def add(self, judged: _Judged) -> None:
        """Note one of them."""
        self.all.append(judged)
        self.mask |= judged.mask
        if judged.number.needs is Needs.NOTHING:
            self.bare.append(judged)
        if judged.number.needs is not Needs.WORD:
            self.shaped.append(judged)

    def believed(self, lengths: tuple[int, ...], gaps: tuple[str, ...]) -> list[_Judged]:
        """Return the schemes that need no context for groups of these lengths with these separators."""
        if not gaps:
            return self.bare
        nothing = Needs.NOTHING
        return [each for each in self.shaped if each.number.needs is nothing or gaps in each.shapes.get(lengths, ())]


class _Shapes:
    """Schemes by the lengths of their groups, one group after the other."""

    __slots__ = ("after", "here")

    def __init__(self) -> None:
        self.after: dict[int, _Shapes] = {}
        """Length of the next group -> schemes that go on so."""
        self.here: _Schemes | None = None
        """Schemes that end here."""

    def add(self, lengths: tuple[int, ...], judged: _Judged) -> None:
        """Note a scheme under one of its shapes."""
        node = self
        for length in lengths:
            node = node.after.setdefault(length, _Shapes())
        node.here = node.here or _Schemes()
        node.here.add(judged)
        if judged.number.needs is not Needs.WORD:
            node.here.written |= judged.shapes[lengths]

    def expression(self) -> bytes:
        """Return a pattern of the lengths of groups with which a scheme can begin, in the form of `DigitRun.shape`."""
        return b"|".join(
            re.escape(bytes([length])) + (b"" if node.here else b"(?:%b)" % node.expression())
            for length, node in self.after.items()
        )


class _Row:
    """A row of plain numbers with the same between all of them."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0
        """Last group of the row; before it, only single groups are evaluated."""


class NumberFinder:
    """Finds identifiers of digits only."""

    def __init__(self, numbers: Iterable[Number], topics: Topics) -> None:
        self._by_length: dict[int, _Schemes] = {}
        self._by_shape = _Shapes()
        self._shapes: set[tuple[int, ...]] = set()
        self._unsure: set[str] = set()
        for number in numbers:
            own = topics.mask(*(each for each in number.near if each[0] != "@"))
            judged = _Judged(number, topics.mask(*number.near), own, number.shapes)
            self._shapes |= judged.shapes.keys()
            if number.needs is not Needs.NOTHING:
                self._unsure.add(number.rule)
            for lengths in judged.shapes:
                self._by_shape.add(lengths, judged)
            for length in number.lengths:
                self._by_length.setdefault(length, _Schemes()).add(judged)
        alone = b"|".join(re.escape(bytes([length])) for length in self._by_length)
        self._begins = re.compile(b"(?=%b|%b)" % (alone, self._by_shape.expression()), re.DOTALL)
        self._order = topics.mask("@order")

    def find(self, run: DigitRun, context: TextContext, *, is_silent: bool) -> Iterator[Finding]:
        """Identifiers in `run`, possibly overlapping.

        Args:
            context: words around a span of the text.
            is_silent: whether no word is near the run.
        """
        count = len(run.lengths)
        if count == 1:
            schemes = self._by_length.get(run.lengths[0])
            if schemes is not None and (schemes.bare or not is_silent):
                yield from self._judged(run, 0, 0, context, schemes, is_silent=is_silent)
            return
        found: list[Finding] = []
        row_end, row_from = 0, count
        """The current line, and the offset from which it is known to be a row of plain numbers."""
        is_row: bool | None = None
        row = _Row()
        for first, last, schemes, is_odd in self._candidates(run, row, is_silent=is_silent):
            if first >= row_end:
                begin, row_end = run.line(first)
                row_from, is_row = begin + LONGEST_SAMPLE, None
            if first >= row_from and first < last and not is_odd:
                if is_row is None:
                    is_row = not are_most(run, found, row_from - LONGEST_SAMPLE, row_from)
                    if is_row and len(set(run.gaps[row_from - LONGEST_SAMPLE : row_end - 1])) == 1:
                        row.last = row_end - 1
                if is_row and is_within_row(run, first, last):
                    continue
            found += self._judged(run, first, last, context, schemes, is_silent=is_silent, is_odd=is_odd)
        yield from without_chance(run, found, self._unsure) if found else ()

    def _candidates(self, run: DigitRun, row: _Row, *, is_silent: bool) -> Iterator[tuple[int, int, _Schemes, bool]]:
        lengths, gaps, by_length, by_shape = run.lengths, run.gaps, self._by_length, self._by_shape.after
        if run.are_thousands:
            total = sum(lengths)
            if total in by_length and (total >= _FEWEST_OF_NO_AMOUNT or tuple(lengths) in self._shapes):
                yield 0, len(lengths) - 1, by_length[total], tuple(lengths) not in self._shapes
            return
        # No word is near if the run is long on both sides.
        apart_from, apart_to = 0, len(lengths) if is_silent else 0
        if not is_silent and run.ends[-1] - run.starts[0] > FARTHEST_BEFORE + FARTHEST_AFTER:
            apart_from = bisect_left(run.starts, run.starts[0] + FARTHEST_BEFORE)
            apart_to = bisect_left(run.ends, run.ends[-1] - FARTHEST_AFTER)
        for begin in self._begins.finditer(run.shape):
            first = begin.start()
            length, is_apart = lengths[first], apart_from <= first < apart_to
            if (here := by_length.get(length)) is not None and (here.bare or not is_apart):
                yield first, first, here, False
            if first < row.last:
                continue
            node, last = by_shape.get(length), first
            joints = _JOINTS_OF_ALL if first == 0 else _JOINTS
            while node is not None and last < len(gaps) and gaps[last] in joints:
                last += 1
                node = node.after.get(lengths[last])
                if node is None or (here := node.here) is None:
                    continue
                if not is_apart or here.bare or tuple(gaps[first:last]) in here.written:
                    yield first, last, here, False
        if (total := sum(lengths)) in by_length and _is_odd(lengths, gaps, self._shapes):
            yield 0, len(lengths) - 1, by_length[total], True

    def _judged(
        self,
        run: DigitRun,
        first: int,
        last: int,
        context: TextContext,
        schemes: _Schemes,
        *,
        is_silent: bool,
        is_odd: bool = False,
    ) -> Iterator[Finding]:
        spend(_JUDGED_WORK)
        start, end = run.starts[first], run.ends[last]
        lengths, gaps = tuple(run.lengths[first : last + 1]), tuple(run.gaps[first:last])
        if gaps:
            is_whole = first == 0 and last == len(run.starts) - 1
            if not is_whole and not _BREAKS.isdisjoint(gaps):
                return
            if set(gaps) == {"."} and run.gaps[last : last + 1] == ["-"]:
                return  # the number goes on: "123.456.789-00"
        if not is_silent:  # as it is where the run goes on for long on either side
            is_silent = start >= run.starts[0] + FARTHEST_BEFORE and end <= run.ends[-1] - FARTHEST_AFTER
        listed = schemes.believed(lengths, gaps) if is_silent else schemes.all
        digits = run.digits(first, last)
        # Few schemes have groups of these lengths, so their checks cost less than the words.
        if gaps and not is_odd and not any(judged.number.check(digits) for judged in listed):
            return
        near = closest = touching = heard = 0
        if not is_silent:
            words = context(start, end)
            near, closest, touching = words.near, words.closest, words.touching
            heard = (
                closest if closest & self._order else near
            )  # after a word of `@order`, only the closest topic counts
            listed = schemes.all if heard & schemes.mask else schemes.shaped if gaps else schemes.bare
        if not listed or (gaps and are_years(run, first, last)) or is_of_uuid(run.text, start, end):
            return
        is_code: bool | None = None
        for number, mask, own, shapes in listed:
            needs, is_shape = number.needs, False
            if gaps:
                is_shape = gaps in shapes.get(lengths, ())
                if not is_shape and not is_odd and lengths not in shapes:
                    continue
            if needs is Needs.NOTHING or (needs is Needs.SHAPE and is_shape):
                if not number.check(digits):
                    continue
                if heard & mask:
                    score = _SCORE_OWN_WORD if near & own else _SCORE_WORD
                elif (touching & self._order and not _is_never_ordered(number.entity_type, digits)) or (
                    not gaps and number.entity_type not in _NEVER_ORDERED and is_amount(run.text, start, end)
                ):
                    continue
                else:
                    if is_code is None:
                        is_code = _is_code(run.text, start, end) or (
                            not gaps and _TIMESTAMP.fullmatch(digits) is not None
                        )
                    if is_code:
                        continue
                    score = _SCORE_SHAPE if is_shape else _SCORE_ALONE
            else:
                if not heard & mask or not number.check(digits):
                    continue
                score = _SCORE_OWN_WORD if near & own else _SCORE_WORD
            yield Finding(start, end, number.entity_type, score, digits, number.rule)


def _is_never_ordered(entity_type: EntityType, digits: str) -> bool:
    return entity_type in _NEVER_ORDERED and not (entity_type is EntityType.CARD and len(digits) < _FEWEST_OF_CARD)


def _is_odd(lengths: list[int], gaps: list[str], shapes: set[tuple[int, ...]]) -> bool:
    """Return whether a whole run is grouped unlike any identifier: evenly in an unknown way, or over two lines."""
    joined = "".join(gaps)
    if "(" in joined or ")" in joined:
        return False
    within = [gap for gap in gaps if "\n" not in gap]
    is_broken = len(gaps) - len(within) == 1
    if tuple(lengths) in shapes:
        return is_broken or any(len(gap) > 1 for gap in gaps)
    if is_broken:
        return len(set(within)) <= 1
    return len(set(lengths[:-1])) == 1 and lengths[-1] <= lengths[0] <= 4


def _is_code(text: str, start: int, end: int) -> bool:
    """Return whether the digits are a part of something longer that hyphens hold together."""
    if start and text[start - 1] in "-_/." and _CODE_BEFORE.search(text, max(0, start - 24), start):
        return True
    return text[end : end + 1] in ("-", "_") and _CODE_AFTER.match(text, end) is not None
