"""Lines of a table without separators between its cells: words and numbers in the same positions, line by line.

north 12 345 678
south 9 1,204 77         # `lines_like(text, 0)`: starts of these two lines, and of others of one word and three numbers
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

FEWEST_LINES = 3
"""Lines of one shape, one below the other, that are a table."""
_NEIGHBOURS = 3  # lines on either side that tell what a column holds
_LONGEST_LINE = 300  # characters; longer lines are prose
_LETTER, _SAYS, _WORDS = re.compile(r"[^\W\d_]"), re.compile(r"\w"), re.compile("ww+")
_DIGITS = re.compile("[0-9]+")


def line_at(text: str, place: int) -> tuple[int, int] | None:
    """Return start and end of the line of `text[place]`; None if it is long, as lines of prose are."""
    first, last = max(0, place - _LONGEST_LINE), min(len(text), place + _LONGEST_LINE)
    start, end = text.rfind("\n", first, place) + 1, text.find("\n", place, last)
    if (first and not start) or (end < 0 and last < len(text)):
        return None
    return start, end if end >= 0 else last


def lines_like(text: str, place: int) -> list[int]:
    """Return the starts of this line and of adjacent lines with numbers and words in the same positions."""
    line = line_at(text, place)
    if line is None:
        return []
    shape = _shape(text, *line)
    lines = [line[0]]
    if shape is None:
        return lines
    above, below = line[0] - 1, line[1] + 1
    while above >= 0 and (each := line_at(text, above)) and _shape(text, *each) == shape:
        lines.append(each[0])
        above = each[0] - 1
    while below < len(text) and (each := line_at(text, below)) and _shape(text, *each) == shape:
        lines.append(each[0])
        below = each[1] + 1
    return lines


def are_in_column(text: str, start: int, end: int, is_one: Callable[[tuple[int, ...]], bool]) -> bool:
    """Return whether half of the lines around have such a value in the cells above and below `text[start:end]`.

    Args:
        is_one: tells it by the lengths of its groups of digits.
    """
    line = line_at(text, start)
    if line is None:
        return True
    before, behind = len(text[line[0] : start].split()), len(text[end : line[1]].split())
    count = len(text[start:end].split())
    same = others = 0
    for cells in _neighbours(text, line):
        in_line, stop = slice(before, before + count), len(cells) - behind
        others += 1
        same += any(
            is_one(tuple(map(len, _DIGITS.findall(" ".join(cells[place])))))
            for place in (in_line, slice(max(0, stop - count), stop))
        )
    return 2 * same >= others


def _neighbours(text: str, line: tuple[int, int]) -> Iterator[list[str]]:
    """Return the cells of the lines above and below this line."""
    place = line[0] - 1
    for _ in range(_NEIGHBOURS):
        if place < 0 or (each := line_at(text, place)) is None:
            break
        yield text[slice(*each)].split()
        place = each[0] - 1
    place = line[1] + 1
    for _ in range(_NEIGHBOURS):
        if place >= len(text) or (each := line_at(text, place)) is None:
            break
        yield text[slice(*each)].split()
        place = each[1] + 1


def _shape(text: str, start: int, end: int) -> str | None:
    """Return the cells of a line as `w` and `n`, adjacent words as one; None if the line is not a row of a table."""
    cells = "".join("w" if _LETTER.search(cell) else "n" for cell in text[start:end].split() if _SAYS.search(cell))
    return _WORDS.sub("w", cells) if cells.count("n") > 1 else None
