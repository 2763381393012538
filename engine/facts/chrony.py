"""Parsers of `chronyc -c tracking` and `chronyc -c sources`.

Source of the order of the fields: chronyc(1), commands `tracking` and `sources`, option -c (comma-separated values).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass

from .unreadable import Unreadable

_TRACKING_FIELDS = 14
_SOURCES_FIELDS = 10


@dataclass(frozen=True, slots=True)
class Tracking:
    """The clock compared with its reference. `leap` is "Not synchronised" without a reference."""

    reference: str
    stratum: int
    offset_s: float
    """Signed offset of the system clock from true time, seconds: chrony's "System time"."""
    root_delay_s: float
    root_dispersion_s: float
    leap: str

    @property
    def error_bound_s(self) -> float:
        """Maximum error of the clock, seconds: |offset| + root dispersion + root delay / 2 (chronyc(1), `tracking`)."""
        return abs(self.offset_s) + self.root_dispersion_s + self.root_delay_s / 2


@dataclass(frozen=True, slots=True)
class Source:
    """One time source. `state` is chrony's symbol: * selected, + combined, - not combined, ? unreachable, x wrong."""

    mode: str
    state: str
    name: str
    stratum: int
    reach: int
    """The last eight polls as bits; 0 if the source answered none."""


def parse_tracking(text: str) -> Tracking:
    """Parse the output of `chronyc -c tracking`.

    Raises:
        Unreadable: the output is not one line of 14 fields.
    """
    rows = _rows(text)
    if len(rows) != 1 or len(rows[0]) != _TRACKING_FIELDS:
        raise Unreadable(f"one line of {_TRACKING_FIELDS} fields", text, where="chronyc -c tracking")
    row = rows[0]
    try:
        return Tracking(
            reference=row[1],
            stratum=int(row[2]),
            offset_s=float(row[4]),
            root_delay_s=float(row[10]),
            root_dispersion_s=float(row[11]),
            leap=row[13],
        )
    except ValueError:
        raise Unreadable("numbers in numeric fields", text, where="chronyc -c tracking") from None


def parse_sources(text: str) -> tuple[Source, ...]:
    """Parse the lines of `chronyc -c sources`, in their order; empty without a source.

    Raises:
        Unreadable: a line does not have ten fields.
    """
    sources = []
    for row in _rows(text):
        if len(row) != _SOURCES_FIELDS:
            raise Unreadable(f"{_SOURCES_FIELDS} fields", ",".join(row), where="chronyc -c sources")
        try:
            sources.append(Source(row[0], row[1], row[2], int(row[3]), int(row[5], 8)))
        except ValueError:
            raise Unreadable("numbers in numeric fields", ",".join(row), where="chronyc -c sources") from None
    return tuple(sources)


def _rows(text: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(text.splitlines()) if row]
    except csv.Error:
        raise Unreadable("lines of fields", text, where="chronyc -c") from None
