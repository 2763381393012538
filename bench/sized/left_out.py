"""Errors and bands of the model for rows excluded from the fit (cross-validation).

    left_out(rows, Evidence.NONE, Tangent(rows, x))  # each GPU predicted by constants fitted without it
    bands_by_evidence(rows, x)                       # the bands of calibration.yaml
    nested(rows, Evidence.NONE, start)               # a quarter of the GPUs, with bands from the others

Bands of a measured pair of model and GPU use rows of the fit and rows of excluded pairs with equal weight, because
plans have other lengths, loads and engines than the measurements. Bands of unmeasured pairs borrow from other regimes,
because few GPUs were measured in each; borrowing never makes a band narrower. Of quarters excluded from their bands,
56 to 71 % of rows are inside without borrowing, and 78 to 84 % with it (2026-11-22).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from bench.sized.constants import Tangent, fit, reader
from bench.sized.errors import BandsOf, Prediction, bands, predict
from bench.sized.rows import Row
from sovctl.engine.catalog.calibrations import Band
from sovctl.engine.sizing.performance.calibration import Evidence

_SEED = 20260825  # seed of the split, as in the data set
_QUARTERS = 4
_BORROWED = 0.5  # 0.3 to 1 give similar results

_KEYS: dict[Evidence, Callable[[Row], Hashable]] = {
    Evidence.APART: lambda row: (row.model_id, row.replica.gpu.id),
    Evidence.GPU: lambda row: row.model_id,
    Evidence.NONE: lambda row: row.replica.gpu.id,
}
"""Key of the rows that a fit excludes, for each evidence except `PAIR`."""


def folds(rows: Sequence[Row], evidence: Evidence, number: int | None = None) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield (rows to fit, rows to predict); `number` folds, or one per pair, model or GPU."""
    key = _KEYS[evidence]
    keys = sorted({key(row) for row in rows}, key=str)
    random.Random(_SEED).shuffle(keys)
    number = min(number or len(keys), len(keys))
    for first in range(number):
        out = set(keys[first::number])
        yield [row for row in rows if key(row) not in out], [row for row in rows if key(row) in out]


def left_out(rows: Sequence[Row], evidence: Evidence, tangent: Tangent) -> list[Prediction]:
    """Return the prediction of every row by constants fitted without its GPU, its model, or (in quarters) its pair.

    Args:
        tangent: linearized model at the constants fitted over all rows.
    """
    number = _QUARTERS if evidence is Evidence.APART else None
    return [each for kept, apart in folds(rows, evidence, number) for each in predict(apart, reader(tangent.fit(kept)))]


def bands_by_evidence(rows: Sequence[Row], x: Sequence[float]) -> dict[Evidence, dict[str, dict[str, Band]]]:
    """Return the bands by evidence; less evidence never gives a narrower band.

    Args:
        x: constants fitted over all rows.
    """
    tangent = Tangent(rows, x)
    unseen = {evidence: left_out(rows, evidence, tangent) for evidence in _KEYS}
    found = {Evidence.PAIR: bands([*predict(rows, reader(x)), *unseen[Evidence.APART]])}
    narrower = found[Evidence.PAIR]
    for evidence, said in unseen.items():
        found[evidence] = _at_least(_unseen_bands(said, evidence), narrower)
        narrower = found[Evidence.APART]
    return found | {Evidence.NEITHER: _at_least(found[Evidence.NONE], found[Evidence.GPU])}


def nested(rows: Sequence[Row], evidence: Evidence, start: Sequence[float]) -> list[Prediction]:
    """Return predictions of each quarter with constants and bands of the other three quarters."""
    said: list[Prediction] = []
    for kept, apart in folds(rows, evidence, _QUARTERS):
        x = fit(kept, start)
        limits = _unseen_bands(left_out(kept, evidence, Tangent(kept, x)), evidence)
        said += predict(apart, reader(x), _looked_up(limits))
    return said


def _unseen_bands(said: Sequence[Prediction], evidence: Evidence) -> dict[str, dict[str, Band]]:
    """Return bands of excluded rows; borrowed rows can only make them wider."""
    key = _KEYS[evidence]
    return _at_least(bands(said, key, _BORROWED), bands(said, key))


def _looked_up(limits: Mapping[str, Mapping[str, Band]]) -> BandsOf:
    return lambda row: limits.get(row.regime.value, {})


def _at_least(
    found: Mapping[str, Mapping[str, Band]], narrower: Mapping[str, Mapping[str, Band]]
) -> dict[str, dict[str, Band]]:
    return {
        regime: {
            name: Band(p10=min(band.p10, narrow.p10), p90=max(band.p90, narrow.p90), rows=band.rows)
            for name, band in by_name.items()
            if (narrow := narrower[regime][name])
        }
        for regime, by_name in found.items()
    }
