"""Rows of plain numbers: cells of a table, counters, measurements. Some of them pass a check by chance.

    12 431 34 4577 690 2105 6          # no social security number in the middle of it
    4111 1111 1111 1111                # a card: the whole row is one

One digit in ten is the right check digit, so a long row always contains something that looks like an identifier. A
finding of several groups without a supporting word is kept if one of these conditions holds:

    it is all there is of digits in its line, or what parts its groups does not part them from the rest
    its check can't be met by one number in ten, and the row is short
    the findings are most of the row: a row of identifiers
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence

from ..context.table_lines import line_at
from ..findings.finding import Finding
from .digit_runs import DigitRun, Spans

MOST_BESIDE = 8
"""Groups of digits in one line, above which the line is not an identifier with its date or code."""
LONGEST_SAMPLE = 48
"""Groups of a row that are looked at to tell what it is a row of: a dozen cards."""
SUPPORTED = 0.97
"""Least score of a number that is supported by a word."""
_DUMPED = frozenset({2, 4, 8})  # digits in a cell of a dump, and of its offset
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_THREE_CELLS = 30  # characters, with the spaces between
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile("[0-9]")


def separators_around(run: DigitRun, first: int, last: int) -> tuple[str, str]:
    """Return the separators before and after these groups in the line; empty at the line's ends."""
    before = run.gaps[first - 1] if first else ""
    after = run.gaps[last] if last < len(run.gaps) else ""
    return "" if "\n" in before else before, "" if "\n" in after else after


def is_in_dump(run: DigitRun, taken: Spans) -> bool:
    """Return whether these groups are next to cells of a hexadecimal dump, so that they are cells of the dump.

    Args:
        taken: what is an identifier already; an IBAN's groups look like cells.
    """
    if run.lengths[0] not in _DUMPED or not _DUMPED.issuperset(run.lengths):
        return False
    start, end = run.starts[0], run.ends[-1]
    before, behind = max(0, start - _THREE_CELLS), end + _THREE_CELLS
    return (_are_dumped(run.text[end:behind].split()[:3]) and not taken.overlaps(end, behind)) or (
        _are_dumped(run.text[before:start].split()[-3:]) and not taken.overlaps(before, start)
    )


def _are_dumped(cells: Sequence[str]) -> bool:
    if len(cells) < 3 or not all(len(cell) in _DUMPED and _HEXADECIMAL.issuperset(cell) for cell in cells):
        return False
    joined = "".join(cells)
    return not (joined.isalpha() or joined.isdigit())  # words such as "be" and "added" are not cells


def is_within_row(run: DigitRun, first: int, last: int) -> bool:
    """Return whether the separators around these groups are the same as the separators between them."""
    before, after = separators_around(run, first, last)
    inner = run.gaps[first:last]
    return before in inner or after in inner


def parted(run: DigitRun, begin: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    """Return the groups of a long line, divided at its wider gaps.

    Args:
        most: maximum of groups; longer parts are omitted.
    """
    gaps = run.gaps[begin : end - 1]
    for is_wide in (_is_wide, _is_space):
        if wide := set(filter(is_wide, set(gaps))):
            break
    else:
        return
    first = begin
    for stop in (*(group for group, gap in enumerate(gaps, begin + 1) if gap in wide), end):
        if stop - first <= most:
            yield first, stop
        elif is_wide is _is_wide:
            yield from parted(run, first, stop, most)
        first = stop


def _is_wide(gap: str) -> bool:
    """Return whether a gap parts cells: more than a sign, and no bracket."""
    return gap == "\t" or (len(gap) > 1 and not (gap[0] == ")" or gap[-1] == "("))


def _is_space(gap: str) -> bool:
    return gap[0] == " " and gap[-1] in " ("


def without_chance(run: DigitRun, found: Sequence[Finding], unsure: Container[str]) -> Sequence[Finding]:
    """Return `found` without identifiers that the digits of a numeric row form by chance.

    Args:
        found: identifiers of digits in `run`, possibly overlapping.
        unsure: rules without a check, or with a check that one number in ten passes.
    """
    if all(finding.score >= SUPPORTED for finding in found):
        return found
    found = sorted(found, key=_start_of)
    lines: dict[int, bool] = {}
    kept: list[Finding] = []
    for finding in found:
        first, last = _groups(run, finding)
        if first < last and finding.score < SUPPORTED:
            begin, end = run.line(first)
            if last >= end:
                if _is_between_cells(run.text, finding.start, finding.end):
                    continue
            elif is_within_row(run, first, last) and (end - begin > MOST_BESIDE or finding.rule in unsure):
                if begin not in lines:
                    lines[begin] = are_most(run, found, begin, min(end, begin + LONGEST_SAMPLE))
                if not lines[begin]:
                    continue
        kept.append(finding)
    return kept


def are_most(run: DigitRun, found: Sequence[Finding], begin: int, end: int) -> bool:
    """Return whether two thirds of these groups are in findings; five sixths of a long row's, where chance has its way.

    Args:
        found: sorted by start.
    """
    start, stop = run.starts[begin], run.ends[end - 1]
    inside = found[bisect_left(found, start, key=_start_of) : bisect_left(found, stop, key=_start_of)]
    covered, free = 0, begin
    for finding in sorted(inside, key=lambda each: (each.start, -each.end)):
        first, last = _groups(run, finding)
        if first >= free:
            covered += last + 1 - first
            free = last + 1
    count = end - begin
    return 6 * covered >= (4 if count < LONGEST_SAMPLE else 5) * count


def _start_of(finding: Finding) -> int:
    return finding.start


def _is_between_cells(text: str, start: int, end: int) -> bool:
    """Return whether a span over several lines is between numbers, without words in its first and last line."""
    lines = line_at(text, start), line_at(text, end)
    if lines[0] is None or lines[1] is None or _LETTER.search(text, lines[0][0], lines[1][1]):
        return False
    return _DIGIT.search(text, lines[0][0], start) is not None and _DIGIT.search(text, end, lines[1][1]) is not None


def _groups(run: DigitRun, finding: Finding) -> tuple[int, int]:
    """Return the first and last group of a finding."""
    return bisect_left(run.starts, finding.start), bisect_left(run.starts, finding.end) - 1
