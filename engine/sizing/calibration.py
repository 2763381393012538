"""The constants of the performance model: efficiencies and overheads, fitted once over published measurements.

They are global: no constant belongs to a model or to a row of data. `bench/sized/fit.py` makes them, and the file
says from what and with which residuals; a site's own measurements give it another set.

    calibration = load_calibration()
    calibration.constant("hbm_weights")       # 0.9: share of the bandwidth that reading weights reaches
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache

from sovctl.engine.catalog.calibrations import Band, ServerCalibration
from sovctl.engine.catalog.figure import CatalogModel, read_catalog


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
    bands: Mapping[str, Mapping[str, Band]]
    """By regime (`closed`, `open`, `offline`, `static`), then by quantity (`throughput`, `itl`, `ttft`)."""

    def constant(self, name: str) -> float:
        """The value of one constant."""
        return self.constants[name].value


@cache
def load_calibration() -> Calibration:
    """The calibration that ships with this version."""
    return Calibration.model_validate(read_catalog("calibration"))


_MANY_IN_FLIGHT = 300.0  # from there on published servers under open arrivals differ most; see `capacity`


def with_own_bands(shipped: Calibration, own: ServerCalibration) -> Mapping[str, Mapping[str, Band]]:
    """The bands to plan with: the site's own where it measured, the published ones elsewhere.

    Waiting under open arrivals with many in flight keeps its published band unless the site measured that many.
    """
    opened = {name: band for name, band in own.bands.items() if name != "ttft" or own.in_flight[1] >= _MANY_IN_FLIGHT}
    return {
        **shipped.bands,
        "closed": {**shipped.bands["closed"], **own.bands},
        "open": {**shipped.bands["open"], **opened},
    }
