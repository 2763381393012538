"""Cells of a table whose header says what they hold: CSV, tabs, Markdown.

    id;name;passport_no
    17;A. Weber;C5KY8WYTL        # PASSPORT

A header is a line whose next one has as many separators; the words over a column stand for the words that elsewhere
stand beside a number. They stand farther from it, so a cell counts only when it is nothing but such a number. What a
checksum or a form gives away was found before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ...domain.entities import EntityType
from ..context.topics import Topics
from ..findings.finding import Finding, name_value
from ..names.in_columns import Heading, heading, hold_names, name_in_cell
from ..numbers.digit_runs import Spans
from ..recognizers.birth_date import is_date
from ..recognizers.labelled_passwords import names_a_password
from ..recognizers.passports_and_plates import is_national_plate
from ..recognizers.pins_and_codes import names_a_code
from ..schemes.scheme import compact
from ..schemes.world import bic_form
from ..text.view import View

_SEPARATORS = ("\t", ";", "|", ",")
_LONGEST_HEADER, _LONGEST_HEAD = 600, 40  # characters of the line, and of one cell
_LONGEST_VALUE = 64
_CARD_IN_CODE = "pan"  # in Polish "Mr" elsewhere
_MOST_IN_CELLS = 3  # separators of a row that part no cells
_SCORE = 0.4
_HUMP = re.compile("(?<=[a-z])(?=[A-Z])")
_LONG_NUMBER = re.compile("[0-9]{5}")
_TWO = 2
_ROWS_READ = 8  # to see whether people stand below "name"
_WRITTEN: dict[EntityType, Callable[[str], str]] = {
    EntityType.SECRET: str,
    EntityType.BIRTH_DATE: str,
    EntityType.PERSON: name_value,
}
_MARKS = " \t\r\"'`*"  # around a cell

_PHONE = re.compile(
    r"(?=[+(0]|[0-9]{8,15}\Z|[0-9]{1,5}[ ./()-])[0-9+(][0-9 ./()+-]{5,22}(?: ?(?:x|ext\.?) ?[0-9]{1,6})?"
)
_DATE = re.compile(r"[0-9]{4}([-./])[0-9]{1,2}\1[0-9]{1,2}|[0-9]{1,2}([-./])[0-9]{1,2}\2(?:[0-9]{2}){1,2}")
_DIGITS = re.compile(r"[0-9](?:[ .-]?[0-9]){3,34}")
_CAPITALS = "0-9A-ZÄÖÜА-ЯІЇЄΑ-Ω"
_CODE = re.compile(rf"(?=[{_CAPITALS} ./№-]*[0-9])[{_CAPITALS}]{{1,20}}(?:[ ./-]№?[{_CAPITALS}]{{1,12}}){{0,7}}")
_SHORT_CODE = re.compile("[0-9]{3,8}")
_BIC = re.compile("[A-Z]{6}[0-9A-Z]{2}(?:[0-9A-Z]{3})?")


def _is_phone(value: str) -> bool:
    return _PHONE.fullmatch(value) is not None and 6 < sum(map(str.isdigit, value)) < 20


def _is_plate(value: str) -> bool:
    return is_national_plate(value) or _is_car(value)


def _is_bic(value: str) -> bool:
    return _BIC.fullmatch(value) is not None and bic_form(value)


def _is_date(value: str) -> bool:
    return _DATE.fullmatch(value) is not None


def _is_code(value: str) -> bool:
    return _SHORT_CODE.fullmatch(value) is not None


def _is_one_word(value: str) -> bool:
    return len(value) > 5 and any(map(str.isalnum, value)) and not any(map(str.isspace, value))


def _sized(form: re.Pattern[str], fewest: int, most: int) -> Callable[[str], bool]:
    def is_one(value: str) -> bool:
        return not _is_date(value) and form.fullmatch(value) is not None and fewest <= len(compact(value)) <= most

    return is_one


_is_car = _sized(_CODE, 4, 10)


@dataclass(frozen=True)
class _Column:
    topic: str
    entity_type: EntityType
    rule: str
    is_one: Callable[[str], bool]


# Numbers are longer than beside a word: a column may as well count something.
_COLUMNS = (
    _Column("@imei", EntityType.IMEI, "IMEI_BY_WORD", _sized(_DIGITS, 14, 16)),
    _Column("@passport", EntityType.PASSPORT, "PASSPORT_BY_WORD", _sized(_CODE, 7, 12)),
    _Column("@licence", EntityType.DRIVING_LICENCE, "LICENCE_BY_WORD", _sized(_CODE, 6, 20)),
    _Column("@card", EntityType.CARD, "CARD_BY_WORD", _sized(_DIGITS, 12, 19)),
    _Column("@swift", EntityType.SWIFT, "BIC_BY_WORD", _is_bic),
    _Column("@birth", EntityType.BIRTH_DATE, "BIRTH_DATE", is_date),
    _Column("@phone", EntityType.PHONE, "PHONE_BY_WORD", _is_phone),
    _Column("@account", EntityType.ACCOUNT, "ACCOUNT_BY_WORD", _sized(_CODE, 8, 34)),
    _Column("@health", EntityType.HEALTH_ID, "HEALTH_ID_BY_WORD", _sized(_CODE, 8, 16)),
    _Column("@tax", EntityType.TAX_ID, "TAX_ID_BY_WORD", _sized(_CODE, 8, 20)),
    _Column("@identity", EntityType.NATIONAL_ID, "ID_BY_WORD", _sized(_CODE, 7, 20)),
    _Column("@patient", EntityType.HEALTH_ID, "HEALTH_ID_BY_WORD", _sized(_CODE, 6, 16)),
    _Column("@customer", EntityType.ACCOUNT, "CUSTOMER_BY_WORD", _sized(_CODE, 6, 20)),
    _Column("@plate", EntityType.VEHICLE, "PLATE_BY_WORD", _is_plate),
)
_PEOPLE = _Column("", EntityType.PERSON, "NAME_COLUMN", lambda cell: name_in_cell(cell) is not None)
_SECRET = _Column("", EntityType.SECRET, "SECRET_NAMED", _is_one_word)
_SHORT = _Column("", EntityType.SECRET, "SECRET_CODE", _is_code)

Cell = tuple[int, int]
"""Where a cell stands in the text, without the space and the quotes around it."""


class ColumnFinder:
    """Finds what headers speak of."""

    rules = tuple(column.rule for column in (*_COLUMNS, _PEOPLE, _SECRET, _SHORT))

    def __init__(self) -> None:
        self._topics = Topics([*(column.topic for column in _COLUMNS), "@order"])
        self._columns = [(column, self._topics.mask(column.topic)) for column in _COLUMNS]
        self._order = self._topics.mask("@order")

    def find(self, view: View, _found: Sequence[Finding]) -> Iterator[Finding]:
        """What stands in such columns."""
        text = view.text
        if "\n" not in text:
            return
        held = Spans(view.tokens)
        for separator in _SEPARATORS:
            if text.count(separator) > 1:
                for finding in self._in_tables(text, separator):
                    if not held.meet(finding.start, finding.end):
                        yield finding

    def _in_tables(self, text: str, separator: str) -> Iterator[Finding]:
        start, width, header, columns = 0, 0, (0, 0), None
        while start < len(text):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            count = text.count(separator, start, end)
            more = count - width  # a cell may hold separators: "Weber, Anna"
            if count and (more == 0 or (0 < more <= _MOST_IN_CELLS < width + 1)):
                if columns is None:
                    is_prose = more and text.find(separator + " ", *header) >= 0
                    columns = {} if is_prose else self._read_header(text, header, separator, start)
                if more and not columns:
                    width, header, columns = count, (start, end), None
                if columns:
                    yield from _in_row(text, _cells(text, start, end, separator), columns, more)
            else:
                width, header, columns = count, (start, end), None
            start = end + 1

    def _read_header(self, text: str, header: Cell, separator: str, start: int) -> dict[int, list[_Column]]:
        """Number of a column -> what its header may mean.

        Args:
            start: of the row below.
        """
        if header[1] - header[0] > _LONGEST_HEADER or _LONG_NUMBER.search(text, *header):
            return {}
        cells = _cells(text, *header, separator)
        if any(end - start > _LONGEST_HEAD or (start == end and separator == ",") for start, end in cells):
            return {}  # a line of prose
        heads = [text[first:last] for first, last in cells]
        meant = {number: columns for number, head in enumerate(heads) if (columns := self._meant(head))}
        headings = [heading(head) for head in heads]
        for number, names in enumerate(headings):
            if names is None:
                continue
            # Two cells may be a label and its value, then other labels stand below; a row of words may be prose.
            is_table = len(heads) > _TWO or None not in headings
            is_table = is_table and (separator not in ",;" or text.find(separator + " ", *header) < 0)
            is_sure = names is Heading.PEOPLE and is_table
            below = () if is_sure else _below(text, start, number, separator)
            if is_sure or hold_names(below, names):
                meant[number] = [*meant.get(number, ()), _PEOPLE]
        return meant

    def _meant(self, head: str) -> list[_Column]:
        if names_a_code(head):
            return [_SHORT]
        if names_a_password(head):
            return [_SECRET]
        if head.lower() == _CARD_IN_CODE:
            head = "card"
        words = _HUMP.sub(" ", head) + " "
        near = self._topics.before(words, len(words)).near
        return [] if near & self._order else [column for column, mask in self._columns if near & mask]


def _in_row(text: str, cells: Sequence[Cell], columns: dict[int, list[_Column]], more: int) -> Iterator[Finding]:
    for number, meant in columns.items():
        for index in range(number, min(number + more + 1, len(cells))):
            start, end = cells[index]
            if not 2 < end - start <= _LONGEST_VALUE:
                continue
            if more and text[start - 1 : start] == '"' != text[end : end + 1] and index + 1 < len(cells):
                end = cells[index + 1][1]  # the cell holds a separator: "Weber, Anna"
            value = text[start:end]
            column = next((each for each in meant if each.is_one(value)), None)
            if column is not None:
                written = _WRITTEN.get(column.entity_type, compact)(value)
                yield Finding(start, end, column.entity_type, _SCORE, written, column.rule)
                break


def _below(text: str, start: int, number: int, separator: str) -> list[str]:
    """What stands in the first rows of a column, as far as anything does."""
    found: list[str] = []
    for _ in range(_ROWS_READ):
        end = text.find("\n", start)
        cells = _cells(text, start, len(text) if end < 0 else end, separator)
        if len(cells) > number and any(map(str.isalpha, cell := text[slice(*cells[number])])):
            found.append(cell)
        if end < 0 or len(cells) == 1:
            break
        start = end + 1
    return found


def _cells(text: str, start: int, end: int, separator: str) -> list[Cell]:
    cells: list[Cell] = []
    while True:
        last = text.find(separator, start, end)
        cells.append(_stripped(text, start, end if last < 0 else last))
        if last < 0:
            return cells
        start = last + 1


def _stripped(text: str, start: int, end: int) -> Cell:
    cell = text[start:end]
    first = len(cell) - len(cell.lstrip(_MARKS))
    return start + first, start + max(first, len(cell.rstrip(_MARKS)))
