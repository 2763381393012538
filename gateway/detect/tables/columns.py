"""Finds identifiers in the cells of tables (CSV, tabs, Markdown) whose header names what the column contains.

A header is a line whose next line has as many separators. Identifiers with a checksum or a form of their own are found
by other finders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...domain.entities import EntityType
from ..findings.finding import Finding, name_value
from ..numbers.digit_runs import Spans
from ..text.view import NormalizedText
from ..validators.scheme import compact
from .cells import Cell, cells_of
from .column_headers import COLUMNS, PEOPLE, SECRET, SHORT, Column, HeaderReader

_SEPARATORS = ("\t", ";", "|", ",")
_LONGEST_VALUE = 64  # characters
_MOST_IN_CELLS = 3  # separators of a row that are part of a cell
_SCORE = 0.4
_WRITTEN: dict[EntityType, Callable[[str], str]] = {
    EntityType.SECRET: str,
    EntityType.BIRTH_DATE: str,
    EntityType.PERSON: name_value,
}


class ColumnFinder:
    """Finds identifiers in columns whose header names them; see `detect.finder.Finder`."""

    rules = tuple(column.rule for column in (*COLUMNS, PEOPLE, SECRET, SHORT))

    def __init__(self) -> None:
        self._headers = HeaderReader()

    def find(self, view: NormalizedText, _found: Sequence[Finding]) -> Iterator[Finding]:
        """Yield the identifiers in such columns."""
        text = view.text
        if "\n" not in text:
            return
        held = Spans(view.tokens)
        for separator in _SEPARATORS:
            if text.count(separator) > 1:
                for finding in self._in_tables(text, separator):
                    if not held.overlaps(finding.start, finding.end):
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
                    columns = {} if is_prose else self._headers.columns_of(text, header, separator, start)
                if more and not columns:
                    width, header, columns = count, (start, end), None
                if columns:
                    yield from _in_row(text, cells_of(text, start, end, separator), columns, more)
            else:
                width, header, columns = count, (start, end), None
            start = end + 1


def _in_row(text: str, cells: Sequence[Cell], columns: dict[int, list[Column]], more: int) -> Iterator[Finding]:
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
