"""Errors of the model against measured rows, the fraction of rows in the bands, and the bands.

predictions = predict(rows, calibration.constant, bands)
errors(predictions)["itl"]["median"]
print(table(predictions))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from operator import itemgetter
from statistics import mean, median, quantiles
from typing import TypedDict

from bench.sized.rows import Row
from sovctl.engine.catalog.calibrations import Band

QUANTITIES = ("throughput", "itl", "ttft")
Constants = Callable[[str], float]
BandsOf = Callable[[Row], Mapping[str, Band]]
"""Returns the bands of a row, by quantity."""


class Errors(TypedDict):
    """Errors of one quantity, in percent."""

    n: int
    median: float
    mean: float
    p90: float
    in_band: float


@dataclass(frozen=True)
class Prediction:
    """One row with its predicted values."""

    row: Row
    computed: Mapping[str, float]
    bands: Mapping[str, Band]

    def ratio(self, name: str) -> float:
        """Return measured / computed."""
        return self.row.measured[name] / self.computed[name]


def predict(rows: Iterable[Row], constant: Constants, bands_of: BandsOf = lambda _: {}) -> list[Prediction]:
    """Return the predictions for each row."""
    return [Prediction(row, row.computed(constant), bands_of(row)) for row in rows]


def errors(said: Sequence[Prediction]) -> dict[str, Errors]:
    """Return the errors by quantity."""
    found: dict[str, Errors] = {}
    for name in QUANTITIES:
        some = [each for each in said if name in each.computed]
        misses = [abs(1 / each.ratio(name) - 1) * 100 for each in some]
        interval = [(each.bands[name], each.ratio(name)) for each in some if name in each.bands]
        if misses:
            found[name] = {
                "n": len(misses),
                "median": median(misses),
                "mean": mean(misses),
                "p90": quantiles(misses, n=10)[-1] if len(misses) > 1 else misses[0],
                "in_band": 100 * mean(band.p10 <= ratio <= band.p90 for band, ratio in interval)
                if interval
                else float("nan"),
            }
    return found


def bands(
    said: Sequence[Prediction], unit: Callable[[Row], Hashable] = lambda row: row.id, borrowed: float = 0.0
) -> dict[str, dict[str, Band]]:
    """Return the 10th and 90th percentile of measured / computed, by regime and quantity.

    Args:
        unit: group of rows with a common error, such as the rows of a GPU excluded from the fit. A group has the weight
            of the square root of its rows, so that the GPU with the most rows does not dominate.
        borrowed: weight of the other regimes relative to a regime's own rows, because few GPUs were measured in each.
    """
    ratios: dict[str, list[tuple[float, tuple[str, Hashable]]]] = {}
    ids: dict[tuple[str, str], set[str]] = {}
    for each in said:
        regime = each.row.regime.value
        for name in each.computed:
            ratios.setdefault(name, []).append((each.ratio(name), (regime, unit(each.row))))
            ids.setdefault((regime, name), set()).add(each.row.id)
    found: dict[str, dict[str, Band]] = {}
    for regime, name in sorted(ids):
        counts = Counter(key for _, key in ratios[name])
        own, other = (sum(sqrt(n) for (of, _), n in counts.items() if (of == regime) is mine) for mine in (True, False))
        weighed = [
            (ratio, 1 / sqrt(counts[key]) / own if key[0] == regime else borrowed / sqrt(counts[key]) / other)
            for ratio, key in sorted(ratios[name], key=itemgetter(0))
            if key[0] == regime or borrowed
        ]
        if len(weighed) > 1:
            low, high = (float(f"{_quantile(weighed, share):.4g}") for share in (0.1, 0.9))
            found.setdefault(regime, {})[name] = Band(p10=low, p90=high, rows=len(ids[regime, name]))
    return found


def _quantile(weighed: Sequence[tuple[float, float]], share: float) -> float:
    """Return the value below which `share` of the weight is; `weighed` is sorted by value."""
    rest = share * sum(weight for _, weight in weighed)
    for value, weight in weighed:
        rest -= weight
        if rest <= 0:
            return value
    return weighed[-1][0]


def table(said: Sequence[Prediction]) -> str:
    """Return the errors as text."""
    lines = [f"{'':<32}{'quantity':<12}{'n':>5}{'median':>9}{'mean':>9}{'p90':>9}{'in band':>9}   percent"]
    for group, some in by_kind(said).items():
        for name, each in errors(some).items():
            lines.append(
                f"{group:<32}{name:<12}{each['n']:>5.0f}{each['median']:>9.1f}{each['mean']:>9.1f}{each['p90']:>9.1f}"
                f"{each['in_band']:>9.0f}"
            )
    return "\n".join(lines)


def by_kind(said: Sequence[Prediction]) -> dict[str, list[Prediction]]:
    """Return all predictions, then those of each measurement kind and engine."""
    groups: dict[str, list[Prediction]] = {"all": list(said)}
    for each in said:
        groups.setdefault(f"{each.row.kind} {each.row.engine.name}", []).append(each)
    return groups
