"""Programs that packages of Debian and Ubuntu ship with a set-user-ID bit, set-group-ID bit or file capabilities.

dpkg does not store the mode of a file, so that a survey compares programs with this table. rpm stores modes and
capabilities, so that nodes with rpm do not need it.
"""

from __future__ import annotations

from datetime import date
from functools import cache

from .figure import CatalogModel, Kind, read_entries


class PrivilegedProgram(CatalogModel):
    """Programs of one package."""

    pattern: str
    """Regular expression of the whole path."""
    package: str
    rights: str
    """Letters: u set-user-ID, g set-group-ID, c file capabilities."""
    kind: Kind
    source: str
    date: date


@cache
def load_privileged_programs() -> tuple[PrivilegedProgram, ...]:
    """Return all rows, in the order of the file."""
    return tuple(map(PrivilegedProgram.model_validate, read_entries("privileged_programs", "programs")))
