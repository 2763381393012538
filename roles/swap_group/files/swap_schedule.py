"""The pool that a swap group keeps awake while no request waits for another.

    schedule = Schedule(config, path)
    schedule.home(time.time())         # "chat": wanted, else of the calendar, else of the forecast; None

Calendar: hours of each pool in the time zone of the site. Forecast: the mean of the requests of each pool in the same
half hour of earlier weeks, the latest week with the highest weight. Both look `lead_s` ahead.
Python 3.9, standard library only.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from datetime import datetime, timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

SLOT_S, SLOTS = 1800, 336  # half hours of a week
WEIGHT = 0.4  # of the latest week
LEAST_REQUESTS = 1.0  # a forecast below it wakes no pool
DAY_MINUTES = 1440


def is_busy(hours: Mapping[str, str], local: datetime) -> bool:
    """Return whether a moment is within hours such as {"days": "1-5", "start": "07:30", "end": "18:30"}; 0 is Sunday.

    Hours whose end is not after their start end on the next day.
    """
    first, _, last = hours["days"].partition("-")
    length = (int(last or first) - int(first)) % 7 + 1
    days = {(int(first) + number) % 7 for number in range(length)}
    start, end = _minutes(hours["start"]), _minutes(hours["end"])
    minute, day = local.hour * 60 + local.minute, local.isoweekday() % 7
    if start < end:
        return day in days and start <= minute < end
    return (day in days and minute >= start) or ((day - 1) % 7 in days and minute < end)


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def slot_of(now_s: float) -> int:
    """Return the half hour of the week, 0 to 335."""
    return int(now_s // SLOT_S) % SLOTS


class Schedule:
    """Wanted pool, calendar and forecast of one swap group; the file keeps the first and the last."""

    def __init__(self, config: Mapping[str, Any], path: Path) -> None:
        self.path, self.lead_s = path, float(config["lead_s"])
        self.hours: dict[str, list[Mapping[str, str]]] = {
            each["pool"]: each["awake_hours"] for each in config["engines"]
        }
        name = config["timezone"]
        self.zone: tzinfo = ZoneInfo(name) if name != "UTC" else timezone.utc  # noqa: UP017 - Python 3.9
        self.want: str | None = None
        self.means: dict[str, dict[str, float]] = {}
        self.counts: dict[str, float] = {}
        self.slot: int | None = None
        self._read()

    def home(self, now_s: float) -> str | None:
        """Return the scheduled pool; None without one."""
        if self.want is not None:
            return self.want
        local = datetime.fromtimestamp(now_s + self.lead_s, self.zone)
        for pool, hours in self.hours.items():
            if any(is_busy(each, local) for each in hours):
                return pool
        return self.forecast(now_s)

    def forecast(self, now_s: float) -> str | None:
        """Return the pool with the most expected requests; None if they are fewer than `LEAST_REQUESTS`."""
        slot = str(slot_of(now_s + self.lead_s))
        expected = {pool: self.means.get(pool, {}).get(slot, 0.0) for pool in self.hours}
        best = max(expected, key=lambda pool: expected[pool])
        return best if expected[best] >= LEAST_REQUESTS else None

    def count(self, pool: str, requests: float, now_s: float) -> None:
        """Count answered requests. At the end of a half hour, its counts enter the means."""
        slot = slot_of(now_s)
        if self.slot is not None and slot != self.slot:
            for each in self.hours:
                means = self.means.setdefault(each, {})
                before = means.get(str(self.slot), 0.0)
                means[str(self.slot)] = round(before + WEIGHT * (self.counts.get(each, 0.0) - before), 3)
            self.counts = {}
            self._write()
        self.slot = slot
        self.counts[pool] = self.counts.get(pool, 0.0) + requests

    def set_want(self, pool: str | None) -> None:
        """Keep a pool awake, or None for calendar and forecast."""
        self.want = pool
        self._write()

    def _read(self) -> None:
        try:
            found = json.loads(self.path.read_text())
            self.want = found["want"] if found["want"] in self.hours else None
            self.means = {
                str(pool): {str(slot): float(mean) for slot, mean in means.items()}
                for pool, means in found["means"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass  # none yet, or a damaged file: the forecast starts empty

    def _write(self) -> None:
        text = json.dumps({"want": self.want, "means": self.means})
        new = self.path.with_name(self.path.name + ".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with new.open("w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
        except OSError as error:
            sys.stdout.write(f"{self.path}: {error.strerror}\n")
