"""Finds names on a line of their own, below a label on a line of its own, as in forms that were copied as text.

    Patient:                # a role, or a field such as `Name`, only with a colon: without, it may be a heading

    Börries Quandt

    Contact person          # what is also the header of a column, with a colon or without
    Ysolde Trewhitt

Both lines contain nothing else. The text that is read is bounded at every label.
"""

from __future__ import annotations

import re

from .in_columns import Heading, heading, name_in_cell
from .in_fields import field_at_end, words_of_label
from .shape import Name, is_caseless

_LONGEST_LABEL, _LONGEST_NAME = 40, 60  # characters
_MOST_WORDS, _FEWEST_WORDS = 4, 2  # of a name; one word is enough where it is known, or where nothing else can stand
_MARKS_BEHIND = " \t\r\"'”»*_,"
# Lists, quotations, headings and what is bold; at most two empty lines.
_LABEL = re.compile(r"[ \t>#*_•-]{0,10}([^\W\d_](?:[^\W\d]|[ ./()'’-])*)")
_BEHIND = re.compile(
    r"[.*_ \t]{0,4}(?P<colon>[:：]?)[*_ \t\r]{0,4}\n(?:[ \t\r>]{0,4}\n){0,2}"
    r"[ \t>]{0,8}(?:[-•*][ \t]{1,3})?[\"'“«*_]{0,3}"
)


def name_below(text: str, at: int) -> Name | None:
    """Return the name below a label whose last word ends at `at`; None unless label and name fill their lines."""
    behind = _BEHIND.match(text, at)
    if behind is None:
        return None
    below = _heading(text, at)
    if below is None or not (behind["colon"] or below is Heading.PEOPLE):
        return None
    start = behind.end()
    end = text.find("\n", start, start + _LONGEST_NAME)
    if end < 0:
        end = len(text)
    if end - start > _LONGEST_NAME:
        return None
    line = text[start:end].rstrip(_MARKS_BEHIND)
    name = name_in_cell(line)
    if name is None or heading(line) is not None:
        return None
    words = name.words + name.initials
    if words > _MOST_WORDS or not (name.given or _is_enough(line, words, below, has_colon=bool(behind["colon"]))):
        return None
    return name._replace(start=start, end=start + name.end)


def _heading(text: str, at: int) -> Heading | None:
    """Return the meaning of the words that fill a line up to `at`."""
    first = max(0, at - _LONGEST_LABEL)
    start = text.rfind("\n", first, at) + 1
    label = _LABEL.fullmatch(text, start, at) if start or not first else None
    if label is None:
        return None
    words = words_of_label(label[1])
    others = len(words) - len(field_at_end(words).split())
    return heading(label[1]) if others <= 1 else None  # "customer name", not "please give your name"


def _is_enough(line: str, words: int, below: Heading, *, has_colon: bool) -> bool:
    """Return whether words of which none is a known given name are a person."""
    if below is Heading.PEOPLE:
        return has_colon or words >= _FEWEST_WORDS
    return words >= _FEWEST_WORDS and not is_caseless(line)
