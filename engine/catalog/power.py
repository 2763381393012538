"""Measured power of GPUs as a fraction of their maximum, by load; and of the rest of a node.

load_power().shares(Load.FULL)           # Shares(low=0.504, middle=0.838, high=0.963)
"""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from functools import cache
from statistics import median
from typing import Annotated, NamedTuple

from pydantic import Field

from .figure import Amount, CatalogModel, Kind, Sources, read_catalog


class Load(StrEnum):
    """Load of a GPU."""

    IDLE = "idle"
    ONE = "one"
    """One request at a time."""
    FULL = "full"
    """As many requests as the server can run."""


class Shares(NamedTuple):
    """Fractions of the maximum power, 0 to 1."""

    low: float
    middle: float
    high: float


class GpuPower(CatalogModel):
    """One measurement."""

    load: Load
    gpu: str
    watts: Amount
    """Mean over a run."""
    max_w: Amount
    """Power limit of the GPU."""
    kind: Kind
    date: date
    source: Sources


class RestPower(CatalogModel):
    """Power of a node without its GPUs, as a fraction of its maximum."""

    low: Annotated[float, Field(ge=0, le=1)]
    middle: Annotated[float, Field(ge=0, le=1)]
    high: Annotated[float, Field(ge=0, le=1)]
    kind: Kind
    date: date
    source: Sources


class Power(CatalogModel):
    """All measurements."""

    gpus: tuple[GpuPower, ...]
    rest: RestPower

    def shares(self, load: Load) -> Shares:
        """Return the lowest, median and highest fraction of a load."""
        found = [each.watts / each.max_w for each in self.gpus if each.load is load]
        return Shares(min(found), median(found), max(found))

    @property
    def rest_shares(self) -> Shares:
        """Fractions of the rest of a node."""
        return Shares(self.rest.low, self.rest.middle, self.rest.high)


@cache
def load_power() -> Power:
    """Return the measurements of the catalogue; cached."""
    content = read_catalog("power")
    return Power.model_validate({key: value for key, value in content.items() if key != "read"})
