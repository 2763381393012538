"""Phases of a start of vLLM by class of model, from process start to the first answer.

load_start_times().start_s("mxfp4", layers=24)          # Range(183, 224)
load_start_times().start_s("dense", layers=32, is_eager=True)
"""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Literal, NamedTuple, get_args

from .figure import Amount, CatalogModel, Count, Figure, Kind, Sources, read_catalog

StartClass = Literal["dense", "experts", "mxfp4", "fp8"]
"""Class of a model: kernels that are compiled and warmed up differ between them."""


class Range(NamedTuple):
    """Fast and slow end, in seconds."""

    low_s: float
    high_s: float


class Phase(CatalogModel):
    """One phase of a start."""

    name: str
    of: Literal["all"] | StartClass
    low_s: Amount
    high_s: Amount
    layers: Count | None = None
    """Layers of the measured model; None: the phase does not depend on the layers."""
    is_eager: bool = True
    """Whether the phase also occurs with `enforce_eager`."""
    kind: Kind
    date: date
    source: Sources

    def seconds(self, layers: int) -> Range:
        """Return the time for a model of `layers` layers; smaller models count as the measured one."""
        times = max(1.0, layers / self.layers) if self.layers else 1.0
        return Range(self.low_s * times, self.high_s * times)


class StartTimes(CatalogModel):
    """All phases, and the factor of time-outs."""

    phases: tuple[Phase, ...]
    busy: Figure
    """Factor on the slow end of a start for time-outs, because machines may be busy."""

    def phases_of(self, model_class: StartClass, *, is_eager: bool = False) -> tuple[Phase, ...]:
        """Return the phases of a class, in order.

        Args:
            is_eager: with `enforce_eager`: without compilation and CUDA graphs.
        """
        found = (each for each in self.phases if each.of in ("all", model_class))
        return tuple(each for each in found if each.is_eager or not is_eager)

    def start_s(self, model_class: StartClass, layers: int, *, is_eager: bool = False) -> Range:
        """Return the time from process start to the first answer, without the reading of weights."""
        parts = [each.seconds(layers) for each in self.phases_of(model_class, is_eager=is_eager)]
        return Range(sum(part.low_s for part in parts), sum(part.high_s for part in parts))

    @property
    def slowest_s(self) -> float:
        """Slow end of the slowest class, for the layers that were measured."""
        return max(self.start_s(each, layers=1).high_s for each in get_args(StartClass))

    @property
    def busy_factor(self) -> float:
        """`busy` as a number."""
        assert isinstance(self.busy.value, int | float)
        return float(self.busy.value)


@cache
def load_start_times() -> StartTimes:
    """Return the start times of the catalogue; cached."""
    content = read_catalog("start_times")
    return StartTimes.model_validate({key: value for key, value in content.items() if key != "read"})
