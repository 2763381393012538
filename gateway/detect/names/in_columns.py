"""Names in the columns of a table: headers of such columns, and cells that contain a name.

heading("Ansprechpartner")     # Heading.PEOPLE
heading("name")                # Heading.NAMES: of people or of things, depending on the column's cells
name_in_cell("Weber, Anna")    # Name(start=0, end=11, words=2, initials=0, given=1)
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from .cues import COLUMNS, OTHER_FIELDS, PERSON_WORDS, WEAK_FIELDS
from .in_fields import field_at_end, has_everyday_word, words_of_label
from .shape import Name, name_at

_COMMA = ", "
_LONGEST_PREPOSITION = 4  # letters: what is from and to somewhere are places


class Heading(Enum):
    """Contents of a column."""

    PEOPLE = auto()
    NAMES = auto()
    """Names of people or of other things: places, products, companies."""


def heading(head: str) -> Heading | None:
    """Return the contents that a header names; None if they are not names."""
    words = words_of_label(head)
    label = field_at_end(words)
    if not label:
        return Heading.NAMES if len(words) == 1 and words[0] in PERSON_WORDS else None
    before = words[: len(words) - len(label.split())]
    is_preposition = label in WEAK_FIELDS and len(label) <= _LONGEST_PREPOSITION
    if is_preposition or (before and before[-1] in OTHER_FIELDS):
        return None
    is_whole = " ".join(words) in COLUMNS or (label not in COLUMNS and before and before[-1] in PERSON_WORDS)
    return Heading.PEOPLE if is_whole else Heading.NAMES


def name_in_cell(cell: str) -> Name | None:
    """Return the name in a cell; None if the cell contains anything else."""
    name = name_at(cell, 0, may_be_lower=True)
    if name is not None and cell.startswith(_COMMA, name.end):
        behind = name_at(cell, name.end + len(_COMMA))
        if behind is not None:
            words, initials = name.words + behind.words, name.initials + behind.initials
            name = Name(name.start, behind.end, words, initials, name.given + behind.given)
    if name is None or name.end != len(cell):
        return None
    is_known = name.given or not (cell[0].islower() or has_everyday_word(cell))
    return name if is_known else None


def hold_names(cells: Sequence[str], below: Heading) -> bool:
    """Return whether at least half of the cells are names with a known given name.

    Below a header of people, names of two words count as well.
    """
    names = [name for cell in cells if (name := name_in_cell(cell)) is not None]
    are_people = below is Heading.PEOPLE
    return 2 * sum(name.given > 0 or (are_people and name.words > 1) for name in names) >= max(1, len(cells))
