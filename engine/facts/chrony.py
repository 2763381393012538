"""What `chronyc -c tracking` and `chronyc -c sources` say of a node's clock.

Fields in the order of chronyc(1), commands `tracking` and `sources`, option -c (comma separated values).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass

from .unreadable import Unreadable

_TRACKING_FIELDS = 14
_SOURCES_FIELDS = 10


@dataclass(frozen=True, slots=True)
class Tracking:
    """The clock against its reference. `leap` is "Not synchronised" when there is none."""

    reference: str
    stratum: int
    offset_s: float
    """How far the system clock is from true time, signed: chrony's "System time"."""
    root_delay_s: float
    root_dispersion_s: float
    leap: str

    @property
    def error_bound_s(self) -> float:
        """Largest error of the clock: |offset| + root dispersion + root delay / 2 (chronyc(1), `tracking`)."""
        return abs(self.offset_s) + self.root_dispersion_s + self.root_delay_s / 2


@dataclass(frozen=True, slots=True)
class Source:
    """One time source. `state` is chrony's sign: * selected, + combined, - not combined, ? unreachable, x wrong."""

    mode: str
    state: str
    name: str
    stratum: int
    reach: int
    """Last eight polls as bits; 0 means that none was answered."""


def parse_tracking(text: str) -> Tracking:
    """The one line of `chronyc -c tracking`.

    Raises:
        Unreadable: it is not one line of 14 fields.
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
        raise Unreadable("numbers in their places", text, where="chronyc -c tracking") from None


def parse_sources(text: str) -> tuple[Source, ...]:
    """Every line of `chronyc -c sources`, in its order; empty when chrony has no source.

    Raises:
        Unreadable: a line has not ten fields.
    """
    sources = []
    for row in _rows(text):
        if len(row) != _SOURCES_FIELDS:
            raise Unreadable(f"{_SOURCES_FIELDS} fields", ",".join(row), where="chronyc -c sources")
        try:
            sources.append(Source(row[0], row[1], row[2], int(row[3]), int(row[5], 8)))
        except ValueError:
            raise Unreadable("numbers in their places", ",".join(row), where="chronyc -c sources") from None
    return tuple(sources)


def _rows(text: str) -> list[list[str]]:
    return [row for row in csv.reader(text.splitlines()) if row]
