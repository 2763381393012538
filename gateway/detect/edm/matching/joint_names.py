"""Finds people who share the surname written once after them: `James` of "James and Mary Okafor".

The word that joins them is one of `_AND`. The given name before it is a name if the list has it with this surname, or
if it is a common given name.

    [run.tokens[place].text for place in givens_before(run, known, 2, has_pair)]    # ["James"]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from .vocabulary import Listed
from .word_run import WordRun

_AND = frozenset(
    "and und et y e en dan i и та й мен пен бен және ve ile og och ja és și si".split()  # noqa: SIM905 - a table
)
"""Words for "and" in the supported languages."""
_ARABIC_AND = "و"
"""Written as a part of the next word."""
_MOST = 3
"""Given names before the last one."""

Pairing = Callable[[Listed, Listed], bool]
"""Return whether the first may be a given name of the person with the second as surname."""


def givens_before(
    run: WordRun, known: Sequence[Listed], first: int, surname: Listed, is_pair: Pairing
) -> Iterator[int]:
    """Yield the tokens of given names before the name that begins at token `first`, from right to left."""
    place = _joined_to(run, first)
    for _ in range(_MOST):
        if place is None or (not run.tokens[place].is_capital and not run.tokens[place].is_caseless):
            return
        if not is_pair(known[place], surname):
            return
        yield place
        is_row = place > 0 and run.tokens[place].gap in (", ", "، ")
        place = place - 1 if is_row else None


def _joined_to(run: WordRun, first: int) -> int | None:
    """Return the token that a word for "and" joins to the token `first`."""
    tokens = run.tokens
    if first > 1 and tokens[first].gap == tokens[first - 1].gap == " " and tokens[first - 1].text.lower() in _AND:
        return first - 2
    if first > 0 and tokens[first].gap == " " and tokens[first].text.startswith(_ARABIC_AND):
        return first - 1
    return None
