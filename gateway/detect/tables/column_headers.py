"""Headers of tables: which sorts of column the header's words name, and the form of the values of each sort.

    id;name;passport_no
    17;A. Weber;C5KY8WYTL        # PASSPORT

Words in a header support a value as words next to a number do in prose. They are farther from it, so a cell counts only
if it contains nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ...domain.entities import EntityType
from ..context.topics import Topics
from ..names.in_columns import Heading, heading, hold_names, name_in_cell
from ..recognizers.birth_date import is_date
from ..recognizers.labelled_passwords import names_a_password
from ..recognizers.passports_and_plates import is_national_plate
from ..recognizers.pins_and_codes import names_a_code
from ..schemes.world import bic_form
from ..validators.scheme import compact
from .cells import Cell, cells_of

_LONGEST_HEADER, _LONGEST_HEAD = 600, 40  # characters of the line, and of one cell
_CARD_IN_CODE = "pan"  # in Polish prose "Mr"
_HUMP = re.compile("(?<=[a-z])(?=[A-Z])")
_LONG_NUMBER = re.compile("[0-9]{5}")
_TWO = 2
_ROWS_READ = 8  # to decide whether the cells below "name" are names of people

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
class Column:
    """A sort of column: its topic, and the form of its values."""

    topic: str
    """Topic of the words in its header (see `context.topics`); empty if the header is recognized in another way."""
    entity_type: EntityType
    rule: str
    is_one: Callable[[str], bool]
    """Whether a cell contains such a value and nothing else."""


# The least lengths are larger than next to a word in prose, because a column may also contain counts.
COLUMNS = (
    Column("@imei", EntityType.IMEI, "IMEI_BY_WORD", _sized(_DIGITS, 14, 16)),
    Column("@passport", EntityType.PASSPORT, "PASSPORT_BY_WORD", _sized(_CODE, 7, 12)),
    Column("@licence", EntityType.DRIVING_LICENCE, "LICENCE_BY_WORD", _sized(_CODE, 6, 20)),
    Column("@card", EntityType.CARD, "CARD_BY_WORD", _sized(_DIGITS, 12, 19)),
    Column("@swift", EntityType.SWIFT, "BIC_BY_WORD", _is_bic),
    Column("@birth", EntityType.BIRTH_DATE, "BIRTH_DATE", is_date),
    Column("@phone", EntityType.PHONE, "PHONE_BY_WORD", _is_phone),
    Column("@account", EntityType.ACCOUNT, "ACCOUNT_BY_WORD", _sized(_CODE, 8, 34)),
    Column("@health", EntityType.HEALTH_ID, "HEALTH_ID_BY_WORD", _sized(_CODE, 8, 16)),
    Column("@tax", EntityType.TAX_ID, "TAX_ID_BY_WORD", _sized(_CODE, 8, 20)),
    Column("@identity", EntityType.NATIONAL_ID, "ID_BY_WORD", _sized(_CODE, 7, 20)),
    Column("@patient", EntityType.HEALTH_ID, "HEALTH_ID_BY_WORD", _sized(_CODE, 6, 16)),
    Column("@customer", EntityType.ACCOUNT, "CUSTOMER_BY_WORD", _sized(_CODE, 6, 20)),
    Column("@policy", EntityType.ACCOUNT, "CUSTOMER_BY_WORD", _sized(_CODE, 6, 20)),
    Column("@plate", EntityType.VEHICLE, "PLATE_BY_WORD", _is_plate),
)
PEOPLE = Column("", EntityType.PERSON, "NAME_COLUMN", lambda cell: name_in_cell(cell) is not None)
SECRET = Column("", EntityType.SECRET, "SECRET_NAMED", _is_one_word)
SHORT = Column("", EntityType.SECRET, "SECRET_CODE", _is_code)


class HeaderReader:
    """Recognizes the columns that a header names."""

    def __init__(self) -> None:
        self._topics = Topics([*(column.topic for column in COLUMNS), "@order"])
        self._columns = [(column, self._topics.mask(column.topic)) for column in COLUMNS]
        self._order = self._topics.mask("@order")

    def columns_of(self, text: str, header: Cell, separator: str, start: int) -> dict[int, list[Column]]:
        """Return for the number of each recognized column the sorts of column that its header can mean.

        Args:
            header: span of the header's line.
            start: index of the first character of the row below.
        """
        if header[1] - header[0] > _LONGEST_HEADER or _LONG_NUMBER.search(text, *header):
            return {}
        cells = cells_of(text, *header, separator)
        if any(end - start > _LONGEST_HEAD or (start == end and separator == ",") for start, end in cells):
            return {}  # prose
        heads = [text[first:last] for first, last in cells]
        meant = {number: columns for number, head in enumerate(heads) if (columns := self._meant(head))}
        headings = [heading(head) for head in heads]
        for number, names in enumerate(headings):
            if names is None:
                continue
            # Two cells can be a label and its value, with other labels below them. A row of words can be prose.
            is_table = len(heads) > _TWO or None not in headings
            is_table = is_table and (separator not in ",;" or text.find(separator + " ", *header) < 0)
            is_sure = names is Heading.PEOPLE and is_table
            below = () if is_sure else _below(text, start, number, separator)
            if is_sure or hold_names(below, names):
                meant[number] = [*meant.get(number, ()), PEOPLE]
        return meant

    def _meant(self, head: str) -> list[Column]:
        if names_a_code(head):
            return [SHORT]
        if names_a_password(head):
            return [SECRET]
        if head.lower() == _CARD_IN_CODE:
            head = "card"
        words = _HUMP.sub(" ", head) + " "
        near = self._topics.before(words, len(words)).near
        return [] if near & self._order else [column for column, mask in self._columns if near & mask]


def _below(text: str, start: int, number: int, separator: str) -> list[str]:
    """Return the cells of a column in the first rows below the header that contain letters."""
    found: list[str] = []
    for _ in range(_ROWS_READ):
        end = text.find("\n", start)
        cells = cells_of(text, start, len(text) if end < 0 else end, separator)
        if len(cells) > number and any(map(str.isalpha, cell := text[slice(*cells[number])])):
            found.append(cell)
        if end < 0 or len(cells) == 1:
            break
        start = end + 1
    return found
