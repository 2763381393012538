"""An identifier scheme: its form, its check, and the context that it requires.

    Number("RU_SNILS", EntityType.NATIONAL_ID, "999-999-999 99", check=ru_snils)
    Form("SG_NRIC", EntityType.NATIONAL_ID, "[STFGM][0-9]{7}[A-Z]", check=sg_nric)

The required context depends on how often another number passes the check. Two check digits, one with a birth date, or
letters in fixed places are rare enough to be accepted without context. A single check digit passes
one number in ten, so it needs its issuer's own punctuation or a word near.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ...domain.entities import EntityType

Check = Callable[[str], bool]
"""Whether the identifier, without separators and in upper case, can be genuine."""


class Needs(Enum):
    """Requirements of a scheme in addition to its check."""

    NOTHING = 1
    """Believed alone, unless it follows "order", "invoice" and the like."""
    SHAPE = 2
    """Believed when written with its issuer's punctuation, or with a word near."""
    WORD = 3
    """Believed only with a word near."""


@dataclass(frozen=True)
class Number:
    """A scheme of digits only."""

    rule: str
    """Country and name, such as `PL_PESEL`."""
    entity_type: EntityType
    forms: str
    """Notations of the issuer, with digits as 9, separated by `|`. Bare digits count as well."""
    check: Check
    needs: Needs = Needs.NOTHING
    near: tuple[str, ...] = ("@identity",)
    """Topics that support it: see `context`."""

    @property
    def lengths(self) -> frozenset[int]:
        """Number of digits."""
        return frozenset(form.count("9") for form in self.forms.split("|"))

    @property
    def shapes(self) -> dict[tuple[int, ...], frozenset[tuple[str, ...]]]:
        """Lengths of its groups of digits -> separators between the groups, for each form."""
        shapes: dict[tuple[int, ...], set[tuple[str, ...]]] = {}
        for form in self.forms.split("|"):
            groups = tuple(len(group) for group in re.findall("9+", form))
            shapes.setdefault(groups, set()).add(tuple(re.findall("[^9]+", form)))
        return {groups: frozenset(separators) for groups, separators in shapes.items()}


@dataclass(frozen=True)
class Form:
    """A scheme of letters and digits."""

    rule: str
    entity_type: EntityType
    pattern: str
    """In the dialect that `re` and Hyperscan share: no look-around, no unbounded repetition. Read without regard to
    case, and only where neither a letter or digit of ASCII precedes nor follows."""
    check: Check | None = None
    """None when its form alone is enough."""
    needs: Needs = Needs.NOTHING
    near: tuple[str, ...] = ("@identity",)
    has_case: bool = False
    """Whether letters must be written as in the pattern."""


def compact(text: str) -> str:
    """Letters and digits only, in upper case."""
    return "".join(filter(str.isalnum, text)).upper()
