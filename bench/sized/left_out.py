"""How far the model is off, and how wide its bands are, where the fit was not shown what it is asked about.

    left_out(rows, Evidence.NONE, Tangent(rows, x))  # each GPU foretold by constants fitted without it
    bands_by_evidence(rows, x)                       # what stands in calibration.yaml
    nested(rows, Evidence.NONE, start)               # a quarter of the GPUs, with bands that come from the others alone

Bands of a model on a GPU that were measured come half from rows that the fit has seen and half from pairs that it has
not: a plan asks about other lengths, loads and engines than were measured. What was not measured borrows from the other
regimes, in each of which few GPUs were, and is never narrower for it. Of quarters that had no part in their bands, 56
to 71 % of rows lay inside them without that, and 78 to 84 % with it (2026-11-22).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from bench.sized.constants import Tangent, fit, reader
from bench.sized.errors import BandsOf, Foretold, bands, foretold
from bench.sized.rows import Row
from sovctl.engine.catalog.calibrations import Band
from sovctl.engine.sizing.performance.calibration import Evidence

_SEED = 20260825  # of the split, as in the data's own
_QUARTERS = 4
_BORROWED = 0.5  # between 0.3 and 1 it makes little difference

_KEYS: dict[Evidence, Callable[[Row], Hashable]] = {
    Evidence.APART: lambda row: (row.model_id, row.replica.gpu.id),
    Evidence.GPU: lambda row: row.model_id,
    Evidence.NONE: lambda row: row.replica.gpu.id,
}
"""What a fit must not have seen of a row, for each evidence that is less than all."""


def folds(rows: Sequence[Row], evidence: Evidence, number: int | None = None) -> Iterator[tuple[list[Row], list[Row]]]:
    """The rows to fit and the rows to foretell; `number` times, or once for each pair, model or GPU."""
    key = _KEYS[evidence]
    keys = sorted({key(row) for row in rows}, key=str)
    random.Random(_SEED).shuffle(keys)
    number = min(number or len(keys), len(keys))
    for first in range(number):
        out = set(keys[first::number])
        yield [row for row in rows if key(row) not in out], [row for row in rows if key(row) in out]


def left_out(rows: Sequence[Row], evidence: Evidence, tangent: Tangent) -> list[Foretold]:
    """Every row, foretold by constants fitted without its GPU, its model, or (in quarters) its pair of both.

    Args:
        tangent: at the constants that were fitted over all these rows.
    """
    number = _QUARTERS if evidence is Evidence.APART else None
    return [
        each for kept, apart in folds(rows, evidence, number) for each in foretold(apart, reader(tangent.fit(kept)))
    ]


def bands_by_evidence(rows: Sequence[Row], x: Sequence[float]) -> dict[Evidence, dict[str, dict[str, Band]]]:
    """The bands, each at least as wide as those of more evidence.

    Args:
        x: the constants, fitted over all rows.
    """
    tangent = Tangent(rows, x)
    unseen = {evidence: left_out(rows, evidence, tangent) for evidence in _KEYS}
    found = {Evidence.PAIR: bands([*foretold(rows, reader(x)), *unseen[Evidence.APART]])}
    narrower = found[Evidence.PAIR]
    for evidence, said in unseen.items():
        found[evidence] = _at_least(_unseen_bands(said, evidence), narrower)
        narrower = found[Evidence.APART]
    return found | {Evidence.NEITHER: _at_least(found[Evidence.NONE], found[Evidence.GPU])}


def nested(rows: Sequence[Row], evidence: Evidence, start: Sequence[float]) -> list[Foretold]:
    """A quarter at a time, foretold with constants and bands of the other three quarters alone."""
    said: list[Foretold] = []
    for kept, apart in folds(rows, evidence, _QUARTERS):
        x = fit(kept, start)
        limits = _unseen_bands(left_out(kept, evidence, Tangent(kept, x)), evidence)
        said += foretold(apart, reader(x), _looked_up(limits))
    return said


def _unseen_bands(said: Sequence[Foretold], evidence: Evidence) -> dict[str, dict[str, Band]]:
    """Bands of what the fit was not shown; what is borrowed makes them wider, never narrower."""
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
