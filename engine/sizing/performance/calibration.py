"""The constants of the performance model: efficiencies and overheads, fitted once over published measurements.

They are global: no constant belongs to a model or to a row of data. `bench/sized/fit.py` makes them, and the file
says from what and with which residuals; a site's own measurements give it another set. How far off a figure is depends
on what stands behind it (`Evidence`): bands of a GPU that nobody measured come from GPUs that the fit was not shown.

    calibration = load_calibration()
    calibration.constant("hbm_weights")                              # 0.9: share of the bandwidth that weights reach
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
    """What the constants were fitted over, of a model on a GPU; what less was measured of has wider bands."""

    PAIR = "pair"
    APART = "apart"
    GPU = "gpu"
    NONE = "none"
    NEITHER = "neither"

    @property
    def words(self) -> str:
        """Such as `this GPU was never measured`."""
        return _WORDS[self]


_WORDS = {
    Evidence.PAIR: "this model on this GPU was measured by others",
    Evidence.APART: "this model and this GPU were measured, never together",
    Evidence.GPU: "this GPU was measured, this model never",
    Evidence.NONE: "this model was measured, this GPU never",
    Evidence.NEITHER: "neither this model nor this GPU was ever measured",
}

Bands = Mapping[str, Mapping[str, Band]]
"""By regime (`closed`, `open`, `offline`, `static`), then by quantity (`throughput`, `itl`, `ttft`)."""


class Constant(CatalogModel):
    """One constant."""

    value: float
    unit: str
    about: str


class Calibration(CatalogModel):
    """All constants, and how far off they are."""

    made_by: str
    source: str
    date: date
    rows: int
    constants: Mapping[str, Constant]
    measured: Mapping[str, tuple[str, ...]]
    """By GPU, the models that were measured on it; each with all of the catalogue that have its shape."""
    bands: Mapping[Evidence, Bands]

    def constant(self, name: str) -> float:
        """The value of one constant."""
        return self.constants[name].value

    def evidence(self, model: str, gpu: str) -> Evidence:
        """What was measured of a model on a GPU, by their ids; a MIG slice is a GPU of its own."""
        is_known = any(model in models for models in self.measured.values())
        if gpu not in self.measured:
            return Evidence.NONE if is_known else Evidence.NEITHER
        if model in self.measured[gpu]:
            return Evidence.PAIR
        return Evidence.APART if is_known else Evidence.GPU


@cache
def load_calibration() -> Calibration:
    """The calibration that ships with this version."""
    return Calibration.model_validate(read_catalog("calibration"))


_MANY_IN_FLIGHT = 300.0  # from there on published servers under open arrivals differ most; see `capacity`


def with_own_bands(shipped: Bands, own: ServerCalibration) -> Bands:
    """The bands to plan with: the site's own where it measured, the published ones elsewhere.

    Waiting under open arrivals with many in flight keeps its published band unless the site measured that many.
    """
    opened = {name: band for name, band in own.bands.items() if name != "ttft" or own.in_flight[1] >= _MANY_IN_FLIGHT}
    return {**shipped, "closed": {**shipped["closed"], **own.bands}, "open": {**shipped["open"], **opened}}
