"""Converts the busy hours of a week to cron expressions that start a lead time earlier. Pure.

    prescales(busy, lead_time_s=119, replicas=4)  # [Prescale("58 7 * * 1,2,3,4,5", "0 18 * * 1,2,3,4,5", 4)]

Intervals that overlap because of the lead time are merged. KEDA's cron trigger is active while its next end is before
its next start, so two overlapping triggers would be active for a few minutes only; it also rejects an end equal to the
start (kedacore/keda 8b4f083c, pkg/scalers/cron_scaler.go, 2026-08-20, read 2026-11-22). Hours that cover the whole week
have no expression; see `is_all_week`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from ...spec.sizing_inputs import BusyHours

_DAY, _WEEK = 1440, 10080  # minutes


@dataclass(frozen=True, slots=True)
class Prescale:
    """Replicas for a busy time, with start and end as cron expressions; the start includes the lead time."""

    start: str
    end: str
    replicas: int


def prescales(busy: BusyHours, *, lead_time_s: float, replicas: int) -> list[Prescale]:
    """Return the expressions of one entry of `busy_hours`, one per time of day; empty if the hours cover the week.

    Args:
        lead_time_s: seconds that a replica needs to start.
    """
    found = spans(busy, ceil(lead_time_s / 60))
    if is_all_week(busy, lead_time_s=lead_time_s):
        return []
    alike: dict[tuple[int, int], list[int]] = {}
    for start, end in found:
        alike.setdefault((start % _DAY, end - start), []).append(start // _DAY)
    return [
        Prescale(_cron(start, days), _cron(start + length, days), replicas) for (start, length), days in alike.items()
    ]


def is_all_week(busy: BusyHours, *, lead_time_s: float) -> bool:
    """Return whether the hours of an entry, with their lead times, cover the whole week."""
    return any(end - start >= _WEEK for start, end in spans(busy, ceil(lead_time_s / 60)))


def spans(busy: BusyHours, lead: int) -> list[tuple[int, int]]:
    """Return disjoint (start, end) in minutes since Sunday 00:00; the last may end in the next week.

    Args:
        lead: minutes by which each start is earlier.
    """
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
