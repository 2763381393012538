"""The busy hours of a week as cron expressions that begin a lead time earlier. Pure.

    prescales(busy, lead_s=119, replicas=4)  # [Prescale("58 7 * * 1,2,3,4,5", "0 18 * * 1,2,3,4,5", 4)]

Hours that run into one another through the lead time are made one: KEDA's cron trigger is on while its next end comes
before its next start, so of two that overlap only a few minutes would be left, and it refuses an end that is its start
(kedacore/keda 8b4f083c, pkg/scalers/cron_scaler.go, 2026-08-20, read 2026-11-22). Hours without a gap have no
expression: they are all week.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from ...spec.sizing_inputs import Busy

_DAY, _WEEK = 1440, 10080  # minutes


@dataclass(frozen=True, slots=True)
class Prescale:
    """Replicas that are there before a busy time begins, as cron expressions."""

    start: str
    end: str
    replicas: int


def prescales(busy: Busy, *, lead_s: float, replicas: int) -> list[Prescale]:
    """Expressions for one entry of the calendar, those of like hours together; none where the hours are all week.

    Args:
        lead_s: how much earlier a replica must be started.
    """
    spans = _spans(busy, ceil(lead_s / 60))
    if is_all_week(busy, lead_s=lead_s):
        return []
    alike: dict[tuple[int, int], list[int]] = {}
    for start, end in spans:
        alike.setdefault((start % _DAY, end - start), []).append(start // _DAY)
    return [
        Prescale(_cron(start, days), _cron(start + length, days), replicas) for (start, length), days in alike.items()
    ]


def is_all_week(busy: Busy, *, lead_s: float) -> bool:
    """True where the hours of an entry and their lead times leave no gap."""
    return any(end - start >= _WEEK for start, end in _spans(busy, ceil(lead_s / 60)))


def _spans(busy: Busy, lead: int) -> list[tuple[int, int]]:
    """From and to, in minutes of a week that begins on Sunday; apart from each other, the last may end in the next."""
    first, _, last = busy.days.partition("-")
    begins, length = _minutes(busy.start), (_minutes(busy.end) - _minutes(busy.start)) % _DAY or _DAY
    found: list[tuple[int, int]] = []
    days = range(int(first), int(first) + (int(last or first) - int(first)) % 7 + 1)
    for start in sorted((day * _DAY + begins - lead) % _WEEK for day in days):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], start + length + lead)
        else:
            found.append((start, start + length + lead))
    while len(found) > 1 and found[-1][1] >= found[0][0] + _WEEK:
        _, end = found.pop(0)
        found[-1] = (found[-1][0], max(found[-1][1], end + _WEEK))
    return found


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def _cron(minutes: int, days: list[int]) -> str:
    shift, minutes = divmod(minutes, _DAY)
    named = ",".join(str(day) for day in sorted((each + shift) % 7 for each in days))
    return f"{minutes % 60} {minutes // 60} * * {named}"
