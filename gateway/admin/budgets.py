"""Limits with their usage, over all workers: pure, from the store's rows and the settings.

budgets(used, limits={"team:cards": limits}, currency="EUR", now=time.time())
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..quota.meter import LIMIT_KINDS, Unit
from ..quota.window import Window
from ..settings import CallerLimits

_RUNNING = "concurrent_requests"


def budgets(
    used: Iterable[tuple[str, str, int, int]], *, limits: Mapping[str, CallerLimits], currency: str, now: float
) -> list[dict[str, Any]]:
    """Return a row for every limit, the one with the highest usage first.

    Args:
        used: subject, kind, slot and amount, from the store.
        limits: by subject.
    """
    taken: dict[tuple[str, str], int] = {}
    for subject, kind, slot, amount in used:
        if kind == _RUNNING or _counts(kind, slot, now):
            taken[subject, kind] = taken.get((subject, kind), 0) + amount
    rows = [row for subject, each in limits.items() for row in _rows(subject, each, taken, currency)]
    return sorted(rows, key=lambda row: (-row["share"], row["subject"], row["limit"]))


def _rows(
    subject: str, limits: CallerLimits, taken: Mapping[tuple[str, str], int], currency: str
) -> Iterable[dict[str, Any]]:
    for kind in LIMIT_KINDS:
        if (most := getattr(limits, kind.name)) is not None:
            amount = taken.get((subject, kind.name), 0) / kind.scale
            unit = currency if kind.unit is Unit.COST else kind.unit.value
            yield _row(subject, kind.name, amount, most, f"{unit} a {kind.window.value}")
    if limits.concurrent_requests is not None:
        yield _row(subject, _RUNNING, taken.get((subject, _RUNNING), 0), limits.concurrent_requests, "requests at once")


def _row(subject: str, limit: str, used: float, most: float, unit: str) -> dict[str, Any]:
    return {"subject": subject, "limit": limit, "used": used, "most": most, "unit": unit, "share": used / most}


def _counts(name: str, slot: int, now: float) -> bool:
    window = next((kind.window for kind in LIMIT_KINDS if kind.name == name), Window.DAY)
    return window.first(window.slot(now)) <= slot <= window.slot(now)
