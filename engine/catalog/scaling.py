"""Thresholds of autoscaling, lead times, and shapes of a day's requests.

    threshold("kv-cache-saturated")        # 0.8
    load_day_shapes()["coding"].at(15.5)   # fraction of the busiest hour at 15:30 UTC

The data are in scaling.yaml; `sovctl scaling plan` copies the thresholds into each standing plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from .figure import Amount, CatalogModel, Figure, Kind, Sources, read_catalog

_HOURS = 24


class Threshold(Figure):
    """A figure with its name."""

    id: str
    value: float


class DayShape(CatalogModel):
    """Requests of one day of a public trace, hour by hour."""

    id: str
    per_minute: Annotated[tuple[Amount, ...], Field(min_length=_HOURS, max_length=_HOURS)]
    """Mean requests per minute of each hour, UTC."""
    kind: Kind
    date: date
    source: Sources

    def at(self, hour: float) -> float:
        """Return the request rate at an hour of the day, as a fraction of the busiest hour.

        Args:
            hour: 0 to 24; linear between the middles of hours, and periodic.
        """
        before = int((hour - 0.5) // 1)
        share = hour - 0.5 - before
        first, second = self.per_minute[before % _HOURS], self.per_minute[(before + 1) % _HOURS]
        return (first + (second - first) * share) / max(self.per_minute)


@cache
def load_thresholds() -> Mapping[str, Threshold]:
    """Return all thresholds by id, in the order of the file."""
    rows = [Threshold.model_validate(row) for row in read_catalog("scaling")["thresholds"]]
    return MappingProxyType({row.id: row for row in rows})


def threshold(name: str) -> float:
    """Return the value of a threshold in its unit."""
    return load_thresholds()[name].value


@cache
def load_day_shapes() -> Mapping[str, DayShape]:
    """Return the shapes of a day by id."""
    rows = [DayShape.model_validate(row) for row in read_catalog("scaling")["day_shapes"]]
    return MappingProxyType({row.id: row for row in rows})


def minute_deviation() -> float:
    """Return the standard deviation of a minute's requests, as a fraction of its hour's mean."""
    value = Figure.model_validate(read_catalog("scaling")["minute_deviation"]).value
    assert isinstance(value, float)
    return value
