"""Rows of a plan in columns: resource, change, and risk with reason.

On a terminal each cell wraps within its column, so that versions and risks are readable at 80 columns. Adjacent rows
that differ only by the name of the resource are one row.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from sovctl.engine.resources.resource import Change, Risk

from .changes import phrase

WIDEST = 36
"""Maximum width of the column of resources, in characters."""
INDENT, GAP = 4, "  "
"""Characters before the first column (two spaces, the mark, one space), and text between two columns."""
LINES = 3
"""Maximum number of lines of a change or a reason."""


@dataclass(frozen=True)
class Row:
    """One row.

    Args:
        changes: those of the first resource, one for each node.
        names: of all resources of the row.
        change: phrase of the change.
        reason: risk and reason.
    """

    changes: tuple[Change, ...]
    names: tuple[str, ...]
    change: str
    reason: str

    @property
    def cells(self) -> tuple[str, str, str]:
        """Texts of the columns."""
        return f"{self.changes[0].kind} {', '.join(self.names)}", self.change, self.reason


def stem(change: Change) -> str:
    """Return the name of a resource; for a replica of a pool, the name of the pool."""
    return change.name.partition(".")[0] if change.kind == "pool" else change.name


def row_of(changes: Sequence[Change]) -> Row:
    """Return the row of one resource; the changes are those of like nodes."""
    first, phrases = changes[0], list(dict.fromkeys(phrase(change) for change in changes))
    names = {change.name for change in changes}
    name = first.name if len(names) == 1 else f"{stem(first)} ({len(names)} replicas)"
    shown = phrases[0] if len(phrases) == 1 else f"{phrases[0]} (differs by node)"
    why = first.why if first.risk is Risk.NONE else f"{first.risk.value}; {first.why}"
    return Row(tuple(changes), (name,), shown, why)


def merged(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield rows; adjacent ones with the same type, action, change and reason are one."""
    found: list[Row] = []
    for row in rows:
        last = found[-1] if found else None
        if last is not None and _signature(last) == _signature(row):
            found[-1] = Row(last.changes, (*last.names, *row.names), last.change, last.reason)
        else:
            found.append(row)
    yield from found


def lines_of(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the lines of each row without the mark."""
    cells = [row.cells for row in rows]
    widths = _widths(cells)
    for row in cells:
        names, *texts = (_wrapped(text, width) for text, width in zip(row, widths, strict=True))
        columns = [names, *(_short(text) for text in texts)]
        yield [
            GAP.join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in zip_longest(*columns, fillvalue="")
        ]


def _signature(row: Row) -> tuple[str, str, str, str]:
    return row.changes[0].kind, row.changes[0].verb.value, row.change, row.reason


def _widths(cells: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column. On a terminal, the last two share the columns that resources leave."""
    resource, change, reason = (max(map(len, column)) for column in zip(*cells, strict=True))
    if not sys.stdout.isatty():
        return [min(WIDEST, resource), min(WIDEST, change), reason]
    columns = shutil.get_terminal_size().columns
    resource = max(1, min(WIDEST, resource, columns // 3))
    left = columns - INDENT - resource - 2 * len(GAP)
    change = max(1, min(change, left - min(reason, left // 2)))
    return [resource, change, max(1, left - change)]


def _wrapped(text: str, width: int) -> list[str]:
    if len(text) <= width or not sys.stdout.isatty():
        return [text]
    return textwrap.wrap(text, width, break_on_hyphens=False)


def _short(lines: list[str]) -> list[str]:
    """Return at most `LINES` lines; `…` replaces the end of a longer text."""
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], f"{lines[LINES - 1][:-1]}…"]
