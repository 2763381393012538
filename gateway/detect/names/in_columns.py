"""Names in the columns of a table: what a header says of its column, and which cells hold a name.

heading("Ansprechpartner")     # Heading.PEOPLE
heading("name")                # Heading.NAMES: of people as of things; the column's cells say which
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
    """What stands below a header."""

    PEOPLE = auto()
    NAMES = auto()
    """Of people, or of something else: places, products, companies."""


def heading(head: str) -> Heading | None:
    """What a header says of its column; None when it speaks of no names."""
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
    """The name that is all of a cell; None when anything else stands there."""
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
    """True when at least half of some cells of one column are names with a known given name, or below a header that
    speaks of people, of two words."""
    names = [name for cell in cells if (name := name_in_cell(cell)) is not None]
    are_people = below is Heading.PEOPLE
    return 2 * sum(name.given > 0 or (are_people and name.words > 1) for name in names) >= max(1, len(cells))
