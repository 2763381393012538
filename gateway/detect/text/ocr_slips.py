"""Letters that OCR and typing confuse with digits: l and I for 1, O for 0, B for 8, S for 5.

    edits("PESEL 44O514Ol359")      # the letters as digits

Only letters within a number count: its groups hold digits and these letters only, at least `_FEWEST` digits, and at
most three letters for five. Check digits, and words next to the number, then decide.
"""

from __future__ import annotations

import re

from .scanner import Pattern

_FEWEST, _MOST_LETTERS = 5, 0.6  # digits, and letters for each of them
_DIGITS = {"l": "1", "I": "1", "|": "1", "O": "0", "o": "0", "B": "8", "S": "5"}
_SLIP = "[OolIBS|]"
_GROUP = "[0-9OolIBS|]{1,40}"
_NUMBER = re.compile(rf"(?<![\w|]){_GROUP}(?:[ ./-]{_GROUP}){{0,20}}(?![\w|])")
_SLIPS = re.compile(_SLIP)
_LETTERS_BEFORE = re.compile(r"(?:[OolIBS|]{1,40} ){1,20}")
_LETTERS_AFTER = re.compile(r"(?: [OolIBS|]{1,40}){1,20}\Z")

GATE = Pattern(
    "|".join(
        (
            f"[0-9]{_SLIP}{{1,2}}[ ./-]?[0-9]",
            f"[0-9][ ./-]{_SLIP}{{1,2}}[0-9]",
            f"{_SLIP}[0-9]{{1,3}}[ ./-][0-9]{{2}}",
            f"{_SLIP}[0-9]{{3}}",
            f"{_SLIP}{{2}}[ ./-]?[0-9]{{2}}",
            f"[0-9]{{2}}[ ./-]?[0-9]{{1,2}}{_SLIP}",
            f"[0-9]{{2}}[./-]{_SLIP}",
        )
    ),
    is_once=True,
    has_case=True,
)
"""A string that every text has which `edits` would change."""


def edits(text: str) -> list[tuple[int, int, str]]:
    """Return an edit for every letter of a number that stands for a digit."""
    found: list[tuple[int, int, str]] = []
    for match in _NUMBER.finditer(text):
        number = match.group()
        letters = len(_SLIPS.findall(number))
        if not letters:
            continue
        digits = sum(map(str.isdigit, number))
        if digits < _FEWEST or letters > _MOST_LETTERS * digits:
            continue
        # "I 4111": letters that a space parts from the number are a word.
        before, after = _LETTERS_BEFORE.match(number), _LETTERS_AFTER.search(number)
        first, last = before.end() if before else 0, after.start() if after else len(number)
        found += (
            (match.start() + slip.start(), match.start() + slip.end(), _DIGITS[slip.group()])
            for slip in _SLIPS.finditer(number, first, last)
        )
    return found
