"""Recognizes phone numbers: with a plus sign, in national formats, and next to a word such as "phone".

Accepted numbers, in order of certainty:

    +49 30 901820, 0049 30 901820, tel:+4930901820    of any country
    030 901820, (212) 555-0123, 0812-3456-7890         valid in a region of the site, with its trunk prefix or grouping
    "call me: 555 0123 4567"                            any 6 to 15 digits next to a word such as phone, tel., тел.
    "416 60 039 office, 416 60 040 fax"                 a word such as "office", in a text with a word for phones

Bare digits without such a word, amounts and dates do not count. Numbers with a valid checksum were found before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...domain.entities import EntityType
from ...domain.work import spend
from ..context.surroundings import TextContext
from ..context.table_lines import are_in_column
from ..context.topics import FARTHEST_AFTER, FARTHEST_BEFORE, Topics
from ..findings.finding import Finding
from ..numbers.amounts import are_years, is_amount, is_of_uuid
from ..numbers.digit_runs import DigitRun, are_thousands
from ..numbers.numeric_tables import parted, separators_around
from .numbering_plan import PhonePlan

_SCORE_INTERNATIONAL, _SCORE_NATIONAL, _SCORE_WORD = 0.75, 0.5, 0.45
_FEWEST, _MOST = 7, 15  # digits; ITU-T E.164, 6.1
_NUMBER_WORK = 35  # units of work: some groups as a phone number
_FEWEST_BY_WORD = 6
_MOST_BESIDE = 8  # groups of a row that can contain a number next to others, as people group theirs
_MOST_LISTED = 15  # groups of a row that may hold several numbers with trunk prefixes, three of France's five groups
_MOST_GROUPS = 8
_ALONE = ("+8613", "+8615", "+8617", "+8618", "+8619")  # MIIT, numbering plan: mobiles; read 2026-11
_EXTENSION = re.compile(
    r"[ ,;]{0,2}(?:ext(?:ension|n)?\.?|x|доб\.?|вн\.?|poste|durchwahl|dw\.?|wew\.?|int(?:erno)?\.?|ramal|dahili|#)"
    r"[ .:]{0,2}(?P<digits>[0-9]{1,6})(?![0-9])",
    re.IGNORECASE,
)
_WHICH = (
    "desk|office|work|home|direct|main|switchboard|büro|privat|dienstlich|bureau|domicile|oficina|trabajo|ufficio"
    "|kantoor|werk|biuro|praca|dom|casa|kantor|rumah|iş|ev|раб|рабочий|домашний|مكتب|منزل"
)
_WHICH_AFTER = re.compile(rf"[ ,;-]{{1,2}}[(]?(?:{_WHICH})(?![^\W_])", re.IGNORECASE)
_WHICH_BEFORE = re.compile(rf"(?<![^\W_])(?:{_WHICH})[.]?[)]?(?:[ ]?[:=][ ]?|[ ])\Z", re.IGNORECASE)
_LONGEST_WHICH = 16
# "doi:10.1016/j.cell.2019.01.023": the word is a piece of a name.
_PATH_BEFORE = re.compile(r"[./]\w{1,20}\.\Z")
_LONGEST_PATH = 24
_IN_PATH = re.compile(r"[A-Za-z0-9][/_]\Z|[A-Za-z]\.\Z")  # "handle/20.500.12185", "default.10.166.15.29.example"
_GLUE = (".", "-", "/")  # between groups of one number, of which this is the rest
_DECIMALS = re.compile(r"\.[0-9]{1,2}(?![0-9])")  # what ends so is an interval: 9244.38-1461.29


class PhoneFinder:
    """Finds phone numbers.

    Args:
        regions: ISO 3166-1 countries whose national formats count.

    Raises:
        ValueError: a region that the phone number plan does not know.
    """

    rules = ("PHONE", "PHONE_BY_WORD")

    def __init__(self, regions: Sequence[str], topics: Topics) -> None:
        self._plan = PhonePlan(regions)
        self._first_lengths = {lengths[0] for lengths in self._plan.groupings}
        groupings = b"|".join(re.escape(bytes(lengths)) for lengths in sorted(self._plan.groupings))
        self._groupings = re.compile(b"\1?(?:%b)" % groupings, re.DOTALL)
        self._phone, self._order = topics.mask("@phone"), topics.mask("@order")

    def international(self, run: DigitRun, context: TextContext) -> Finding | None:
        """Return the phone number with a plus sign at the start of `run`; no other scheme begins with a plus sign."""
        if _plus_before(run.text, run.starts[0]) == run.starts[0]:
            return None
        found = self._longest_from(run, 0, 0, len(run.starts), context, is_apart=True)
        return found[0] if found else None

    def find(self, run: DigitRun, context: TextContext) -> Iterator[Finding]:
        """Phone numbers in `run`, none overlapping."""
        starts, ends = run.starts, run.ends
        for begin, end in self._pieces(run, context) if len(starts) > 3 else ((0, len(starts)),):
            last_start = ends[end - 1] - _FEWEST_BY_WORD
            if last_start < starts[begin]:
                continue
            # No word is near if the run is long on both sides.
            is_apart = starts[begin] >= starts[0] + FARTHEST_BEFORE and ends[end - 1] <= ends[-1] - FARTHEST_AFTER
            is_unsaid = end - begin > 2 and (is_apart or not context.may_have_topic(self._phone))
            is_even = is_unsaid and len(set(run.gaps[begin : end - 1])) == 1
            has_decimals = is_unsaid and not is_even and "." in run.gaps[max(0, begin - 1) : end - 1]
            # All of it may be one number.
            is_one = end - begin <= _MOST_GROUPS + 1 and sum(run.lengths[begin:end]) <= _MOST
            first = begin
            while first < end and starts[first] <= last_start:
                if is_even and not (is_one and first == begin) and not self._may_begin(run, first):
                    first += 1
                    continue
                found = self._longest_from(
                    run, begin, first, end, context, is_apart=is_apart, is_even=is_even, has_decimals=has_decimals
                )
                if found is None:
                    first += 1
                else:
                    yield found[0]
                    first = found[1] + 1

    def _may_begin(self, run: DigitRun, first: int) -> bool:
        """Return whether a number can begin with this group of a row: not a count, and followed by a usual group."""
        length, digit = run.lengths[first], run.text[run.starts[first]]
        if digit == "0" or length > 9:
            return True
        if length not in self._first_lengths and digit not in "18":
            return False
        return length >= _FEWEST_BY_WORD or self._groupings.match(run.shape, first) is not None

    def _pieces(self, run: DigitRun, context: TextContext) -> Iterator[tuple[int, int]]:
        """Groups in which numbers can stand: of lines, and of a long line what wider gaps part."""
        count = len(run.starts)
        begin = 0
        while begin < count:
            _, end = run.line(begin)
            if end - begin <= _MOST_LISTED:
                yield begin, end
            elif context.may_have_topic(self._phone):  # next to the words, at either end
                yield begin, begin + _MOST_BESIDE
                yield from parted(run, begin + _MOST_BESIDE, end - _MOST_BESIDE, _MOST_LISTED)
                yield end - _MOST_BESIDE, end
            else:
                yield from parted(run, begin, end, _MOST_LISTED)
            begin = end

    def _longest_from(
        self,
        run: DigitRun,
        begin: int,
        first: int,
        end: int,
        context: TextContext,
        *,
        is_apart: bool,
        is_even: bool = False,
        has_decimals: bool = False,
    ) -> tuple[Finding, int] | None:
        """Return the longest number from the group `first` to before the group `end`, and its last group.

        Args:
            is_apart: no word stands near.
            is_even: no such word concerns phones, and all separators from `begin` to `end` are equal;
                then a number is all of them, or grouped as people do, as `_is_of_a_row` has it.
            has_decimals: no word concerns phones, and adjacent decimals, which are not a number, are possible.
        """
        text, starts, ends, gaps = run.text, run.starts, run.ends, run.gaps
        start = starts[first]
        plus = start if first else _plus_before(text, start)  # no separator of a run is a plus
        last, total = first, ends[first] - start
        candidates: list[tuple[int, int]] = []
        has_opened, is_open = text[start - 1 : start] == "(", False
        is_counted = is_even and plus == start and text[start] != "0"
        has_decimals = has_decimals and plus == start and not text.startswith("00", start)
        while True:
            if total >= _FEWEST_BY_WORD and not is_open:
                is_all = last == first or (first == begin and last == end - 1)
                if not is_counted or is_all or self._is_grouped(run, first, run.lengths[first : last + 1]):
                    candidates.append((last, total))
            if last + 1 >= end or last - first >= _MOST_GROUPS or not _is_gap(gaps[last]):
                break
            if has_decimals and gaps[last] == " " and "." in gaps[max(0, first - 1) : last]:
                break
            if ")" in gaps[last]:
                is_open = False
            if "(" in gaps[last]:
                if has_opened:
                    break
                has_opened = is_open = True
            last += 1
            total += ends[last] - starts[last]
            if total > _MOST:
                break
        for last, total in reversed(candidates):
            number = self._number(run, first, last, total, context, has_plus=plus < start, is_apart=is_apart)
            if number is not None:
                value, score, rule = number
                outset, stop = min(plus, _bracket_before(text, start, ends[last])), ends[last]
                if extension := _EXTENSION.match(text, stop):
                    stop, value = extension.end(), f"{value};ext={extension['digits']}"
                return Finding(outset, stop, EntityType.PHONE, score, value, rule), last
        return None

    def _number(
        self, run: DigitRun, first: int, last: int, total: int, context: TextContext, *, has_plus: bool, is_apart: bool
    ) -> tuple[str, float, str] | None:
        spend(_NUMBER_WORK)
        digits = run.digits(first, last)
        if has_plus:
            if total < _FEWEST or not self._plan.is_assigned(digits):
                return None
            return self._plan.international(digits) or f"+{digits}", _SCORE_INTERNATIONAL, "PHONE"
        start, end = run.starts[first], run.ends[last]
        abroad = self._plan.international(digits[2:]) if total > 9 and run.text.startswith("00", start) else None
        if abroad and last > first and self._is_chance(run, first, last, context):
            abroad = None
        if first == 0 and self._order & (touching := context(start, end).touching) and not self._phone & touching:
            return None  # first, because `document_numbers` reads numbers with such a word
        has_form = self._is_written(run, first, last, has_trunk=True)
        may_have_topic = not is_apart and context.may_have_topic(self._phone)
        if not (has_form or abroad or may_have_topic):
            return None
        national = self._plan.national(digits) if total >= _FEWEST else None
        is_written = national is not None and (
            (has_form and (national[1] or self._is_written(run, first, last, has_trunk=False)))
            or _is_mobile_alone(run, first, last, national[0])
        )
        if not (is_written or abroad or may_have_topic):
            return None
        words = context(start, end)
        if (words.touching | words.following) & self._order and not words.touching & self._phone:
            return None
        is_written = is_written and not self._is_chance(run, first, last, context)
        is_said = may_have_topic and (
            bool(((words.before & words.closest) | words.after) & self._phone)
            or (total >= _FEWEST and _says_which(run.text, start, end))
        )
        if is_said and not is_written and " " in run.gaps[first:last] and _is_cell(run, first, last, context):
            return None
        if is_said and _PATH_BEFORE.search(run.text, max(0, start - _LONGEST_PATH), start):
            return None
        if not (abroad or is_written or is_said) or is_amount(run.text, start, end):
            return None
        if is_of_uuid(run.text, start, end):
            return None
        if not is_said and (_DECIMALS.match(run.text, end) or _IN_PATH.search(run.text, max(0, start - 2), start)):
            return None
        if not is_said and first and run.gaps[first - 1] in _GLUE:
            return None
        if abroad:
            return abroad, _SCORE_INTERNATIONAL, "PHONE"
        if is_written and national is not None:
            return national[0], _SCORE_NATIONAL, "PHONE"
        if are_years(run, first, last):
            return None
        return national[0] if national else digits, _SCORE_WORD, "PHONE_BY_WORD"

    def _is_written(self, run: DigitRun, first: int, last: int, *, has_trunk: bool) -> bool:
        """Return whether valid digits are also written as people write a number."""
        text, lengths, gaps = run.text, run.lengths[first : last + 1], run.gaps[first:last]
        if not gaps:
            is_trunk = text[run.starts[first]] != "1"  # dialled before every number, not written before most
            return (
                has_trunk
                and is_trunk
                and lengths[0] >= 10
                and text[run.starts[first] - 1 : run.starts[first]] not in ("-", ".", "#", "/")
            )
        if ")" in "".join(gaps):
            return not self._is_of_a_row(run, first, last, lengths, gaps)
        # A list of small numbers, a path, a standard's: 1 2 3 4, 20/30/600, 1003.1-2001.
        if max(lengths) < (2 if has_trunk else 3) or 1 in lengths[1:] or gaps.count("/") > 1 or gaps == ["."]:
            return False
        if run.are_thousands or are_thousands(lengths):  # only nine digits may be a number: 512 345 678
            is_grouped = run.lengths == lengths == [3, 3, 3] and "." not in gaps
        else:
            is_grouped = has_trunk or (len(lengths) >= 3 and (sum(lengths) >= 9 or "." not in gaps))
        return is_grouped and not (are_years(run, first, last) or self._is_of_a_row(run, first, last, lengths, gaps))

    def _is_chance(self, run: DigitRun, first: int, last: int, context: TextContext) -> bool:
        """Return whether these groups are cells of a table row, and are not grouped like a phone number."""
        lengths = run.lengths[first : last + 1]
        if " " not in run.gaps[first:last]:
            return False
        text, start, end = run.text, run.starts[first], run.ends[last]
        if lengths[0] > 1 and text[start] == "0":  # counts in as many digits as the others: 033511 101710
            is_padded = lengths[0] > 2 and len(set(lengths)) == 1
            beside_it = text[max(0, start - 2) : start] + text[end : end + 2]
            return is_padded and any(map(str.isdigit, beside_it)) and context.are_in_table(start)
        if not context.are_in_table(start):
            return False
        return not self._is_grouped(run, first, lengths) or not are_in_column(
            text, start, end, self._plan.groupings.__contains__
        )

    def _is_of_a_row(self, run: DigitRun, first: int, last: int, lengths: list[int], inner: list[str]) -> bool:
        """Return whether these groups are decimals or cells of a table: 757.98 568.83, 433 993 221 178 26 512."""
        text, start, end = run.text, run.starts[first], run.ends[last]
        before, after = separators_around(run, first, last)
        if "\t" in inner:  # cells, unless the only two of the line
            return (
                inner.count("\t") > 1 or "." in inner or bool({*text[start - 1 : start], *text[end : end + 1]} - {"\n"})
            )
        if " " in inner and (before == "." or after == "." or ("." in inner and " " in inner[inner.index(".") :])):
            return True
        has_brackets = any(")" in gap for gap in inner) and any(c in "()" for c in before + after)
        if not has_brackets and before not in inner and after not in inner:
            return False
        line_first, line_end = run.line(first)
        others = 0 if has_brackets else line_end - line_first
        if lengths[0] > 1 and text[start] == "0":  # dialled, and hardly any count begins so
            is_padded = lengths[0] > 2 and len(set(lengths)) == 1
            return others > (_MOST_BESIDE if is_padded else _MOST_LISTED)
        if others > _MOST_BESIDE:
            return True
        return not self._is_grouped(run, first, lengths)

    def _is_grouped(self, run: DigitRun, first: int, lengths: list[int]) -> bool:
        """Return whether phone numbers are grouped like this, with or without the 1 or 8 that some countries dial."""
        if lengths[0] == 1 and len(lengths) > 3 and run.text[run.starts[first]] in "18":
            lengths = lengths[1:]
        return tuple(lengths) in self._plan.groupings


def _is_cell(run: DigitRun, first: int, last: int, context: TextContext) -> bool:
    """Return whether these groups are some of a table's row without words."""
    begin, end = run.line(first)
    return last - first + 1 < end - begin and context.are_in_table(run.starts[first])


def _is_mobile_alone(run: DigitRun, first: int, last: int, number: str) -> bool:
    """Return whether it is a mobile number of a country that dials no prefix and seldom groups them."""
    return (
        number.startswith(_ALONE)
        and last - first < 3
        and all(gap in (" ", "-") for gap in run.gaps[first:last])
        and len(run.starts) == last - first + 1
        and run.text[run.starts[first] - 1 : run.starts[first]] not in ("-", ".", "#", "/", "=")
    )


def _says_which(text: str, start: int, end: int) -> bool:
    """Return whether a word next to the number distinguishes it from other numbers of the person: "office"."""
    return bool(_WHICH_AFTER.match(text, end) or _WHICH_BEFORE.search(text, max(0, start - _LONGEST_WHICH), start))


def _is_gap(gap: str) -> bool:
    """Return whether a number can continue after this gap: same line, at most a separator or a bracket and space."""
    return "\n" not in gap and (len(gap) == 1 or gap in (") ", " (", " - ", ")-", "-(", ").", ") (", "/ ", " /", " / "))


def _plus_before(text: str, start: int) -> int:
    """Return the offset of the plus sign before `start`, or of a bracket next to it; `start` without a plus sign."""
    place = start
    while place and start - place < 2 and text[place - 1] in "( ":
        place -= 1
    if not place or text[place - 1] != "+":
        return start
    place -= 1
    if place and text[place - 1] == "(":
        place -= 1
    is_glued = place and text[place - 1].isalnum() and text[place - 1].isascii()
    return start if is_glued else place


def _bracket_before(text: str, start: int, end: int) -> int:
    """Return the start of the number, including the bracket of an area code."""
    return start - 1 if start and text[start - 1] == "(" and ")" in text[start:end] else start
