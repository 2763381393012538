"""Cells of a line of a table: their spans, without the space and the quotes around them."""

from __future__ import annotations

_MARKS = " \t\r\"'`*"  # around a cell

Cell = tuple[int, int]
"""Start and end of a cell in the text, without the space and the quotes around it."""


def cells_of(text: str, start: int, end: int, separator: str) -> list[Cell]:
    """Return the cells of the line `text[start:end]`, in order."""
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
