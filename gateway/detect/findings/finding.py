"""A finding: span, entity type, score, normalized value and rule of one identifier in a text."""

from __future__ import annotations

from typing import NamedTuple

from ...domain.entities import EntityType


class Finding(NamedTuple):
    """One identifier in one text."""

    start: int
    """Index of its first character."""
    end: int
    """Index after its last one."""
    entity_type: EntityType
    score: float
    """0 to 1; 1 when a checksum holds."""
    value: str
    """The identifier in one form, whatever it was written like; personal data, so it is never printed."""
    rule: str
    """Which rule found it, such as `DE_TAX_ID`."""

    def __repr__(self) -> str:
        span = f"start={self.start}, end={self.end}"
        return f"Finding({span}, entity_type={self.entity_type}, score={self.score}, rule={self.rule!r})"


def name_value(name: str) -> str:
    """Return the normalized form of a name: case and spaces do not matter."""
    return " ".join(name.casefold().split())
