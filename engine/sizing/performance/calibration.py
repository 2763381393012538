"""Constants of the performance model: efficiencies and overheads, fitted to published measurements.

- The constants are global: none belongs to one model or one measurement.
- `bench/sized/fit.py` writes them to `calibration.yaml`, with the source and the residuals. A site can add a
  calibration from its own measurements.
- The error band of a figure depends on the available measurements (`Evidence`). Bands of an unmeasured GPU come from
  GPUs excluded from a fit.

    calibration = load_calibration()
    calibration.constant("hbm_weights")                              # 0.9: fraction of the bandwidth for weights
    evidence = calibration.evidence("llama-3.3-70b", "H100-80GB-SXM")
    calibration.bands[evidence]["open"]["itl"].p90
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from functools import cache

from ...catalog.calibrations import Band, ServerCalibration
from ...catalog.figure import CatalogModel, read_catalog


class Evidence(StrEnum):
    """Published measurements of a model on a GPU. Less evidence gives wider bands."""

    PAIR = "pair"
    APART = "apart"
    GPU = "gpu"
    NONE = "none"
    NEITHER = "neither"

    @property
    def description(self) -> str:
        """Such as `this GPU was not measured`."""
        return _WORDS[self]


_WORDS = {
    Evidence.PAIR: "published measurements of this model on this GPU",
    Evidence.APART: "this model and this GPU were measured, but not together",
    Evidence.GPU: "this GPU was measured, this model was not",
    Evidence.NONE: "this model was measured, this GPU was not",
    Evidence.NEITHER: "neither this model nor this GPU was measured",
}

Bands = Mapping[str, Mapping[str, Band]]
"""Bands by regime (`closed`, `open`, `offline`, `static`) and quantity (`throughput`, `itl`, `ttft`)."""


class Constant(CatalogModel):
    """One constant of the performance model."""

    value: float
    unit: str
    about: str


class Calibration(CatalogModel):
    """All constants, with the error bands of the model."""

    made_by: str
    source: str
    date: date
    rows: int
    constants: Mapping[str, Constant]
    measured: Mapping[str, tuple[str, ...]]
    """Models measured on each GPU, including all models of the catalogue with the same shape."""
    bands: Mapping[Evidence, Bands]

    def constant(self, name: str) -> float:
        """Return the value of one constant."""
        return self.constants[name].value

    def evidence(self, model: str, gpu: str) -> Evidence:
        """Return the evidence for a model on a GPU, by their ids; a MIG slice has its own id."""
        is_known = any(model in models for models in self.measured.values())
        if gpu not in self.measured:
            return Evidence.NONE if is_known else Evidence.NEITHER
        if model in self.measured[gpu]:
            return Evidence.PAIR
        return Evidence.APART if is_known else Evidence.GPU


@cache
def load_calibration() -> Calibration:
    """Return the calibration of this version."""
    return Calibration.model_validate(read_catalog("calibration"))


_MANY_IN_FLIGHT = 300.0  # above this, published servers with open arrivals vary most; see `capacity`


def with_own_bands(shipped: Bands, own: ServerCalibration) -> Bands:
    """Return the bands for planning: the site's own for measured quantities, the published ones otherwise.

    The TTFT band of open arrivals stays the published one unless the site measured at least 300 requests in flight.
    """
    opened = {name: band for name, band in own.bands.items() if name != "ttft" or own.in_flight[1] >= _MANY_IN_FLIGHT}
    return {**shipped, "closed": {**shipped["closed"], **own.bands}, "open": {**shipped["open"], **opened}}
