"""Figures for the operator page: pure, from the metrics of all workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from ..telemetry.metrics import Metrics
from ..telemetry.metrics.families import Histogram, Series


def figures(metrics: Metrics) -> dict[str, Any]:
    """Return the figures at the top of the page."""
    return {
        "workers": metrics.workers.values.get((), 0),
        "in_flight": metrics.in_flight.values.get((), 0),
        "answered": sum(metrics.requests.values.values()),
        "refused": sum(metrics.refused.values.values()),
        "fallbacks": metrics.fallbacks.values.get((), 0),
        "reload_failed": bool(metrics.reload_failed.values.get((), 0)),
        "added_p50_s": quantile(metrics.added_s, 0.5),
        "added_p99_s": quantile(metrics.added_s, 0.99),
        "first_byte_p50_s": quantile(metrics.first_byte_s, 0.5),
        "first_byte_p99_s": quantile(metrics.first_byte_s, 0.99),
    }


def by_label(values: Mapping[tuple[str, ...], float], position: int) -> dict[str, float]:
    """Return sums by one label."""
    found: dict[str, float] = {}
    for key, value in values.items():
        found[key[position]] = found.get(key[position], 0) + value
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def answered_by_route(metrics: Metrics) -> dict[str, dict[str, float]]:
    """Return answers by model, then by route (`pool`, `cloud`)."""
    found: dict[str, dict[str, float]] = {}
    for (_, model, route, _), value in metrics.requests.values.items():
        found.setdefault(model, {})[route] = found.get(model, {}).get(route, 0) + value
    return found


def quantile(histogram: Histogram, share: float) -> float | None:
    """Return the quantile of all values, to the precision of the buckets; None without values."""
    return quantile_of(_together(histogram.values.values()), histogram.bounds, share)


def quantile_of(counts: Sequence[int], bounds: Sequence[float], share: float) -> float | None:
    """Return the quantile of counts between bounds; the last count is above all bounds."""
    total = sum(counts)
    if not total:
        return None
    wanted, below = share * total, 0
    for number, reached in enumerate(accumulate(counts)):
        if reached >= wanted and reached > below:
            low = bounds[number - 1] if number else 0.0
            high = bounds[min(number, len(bounds) - 1)]
            return low + (high - low) * (wanted - below) / (reached - below)
        below = reached
    return bounds[-1]


def _together(series: Iterable[Series]) -> list[int]:
    return [sum(column) for column in zip(*(each.counts for each in series), strict=True)]
