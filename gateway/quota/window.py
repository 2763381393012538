"""Windows of limits as sums of slots. Pure.

A slot is the shortest time that is counted. A minute is the current slot and the twelve before it, of five seconds
each. Any 60 seconds are within such a row of thirteen slots, so a limit on their sum holds for any 60 seconds. A day
and a month are one slot each, of the UTC calendar.

    window = Window.MINUTE
    granted(limit=600, taken=590, need=4, wanted=16)      # 10
"""

from __future__ import annotations

import calendar
import time
from collections.abc import Mapping
from enum import StrEnum

SLOT_S = 5
_SLOTS = 60 // SLOT_S + 1
_DAY_S = 86_400
_SHARE = 16
"""A lease is 1/16 of the rest: enough for many requests at first, and a small amount near the end."""


class Window(StrEnum):
    """Period of a limit."""

    MINUTE = "minute"
    DAY = "day"
    MONTH = "month"

    def slot(self, now: float) -> int:
        """Return the slot of a time in seconds since 1970."""
        if self is Window.MINUTE:
            return int(now // SLOT_S)
        if self is Window.DAY:
            return int(now // _DAY_S)
        day = time.gmtime(now)
        return day.tm_year * 12 + day.tm_mon - 1

    def starts(self, slot: int) -> float:
        """Return the start of a slot in seconds since 1970; it ends at the start of the next."""
        if self is Window.MINUTE:
            return float(slot * SLOT_S)
        if self is Window.DAY:
            return float(slot * _DAY_S)
        return float(calendar.timegm((slot // 12, slot % 12 + 1, 1, 0, 0, 0)))

    def first(self, slot: int) -> int:
        """Return the oldest slot of the window that ends with `slot`."""
        return slot - _SLOTS + 1 if self is Window.MINUTE else slot

    def free_at(self, slot: int) -> float:
        """Return the time from which usage in `slot` no longer counts, in seconds since 1970."""
        return self.starts(slot + (_SLOTS if self is Window.MINUTE else 1))


def granted(*, limit: int, taken: int, need: int, wanted: int) -> int:
    """Return the amount to lease to a process: at least `need`, or 0 if less is left.

    Args:
        taken: amount that all processes have taken in the current window.
        need: smallest amount that allows one of the waiting requests.
        wanted: amount for all waiting requests.
    """
    left = limit - taken
    return 0 if left < max(1, need) else min(left, max(need, wanted, left // _SHARE))


def retry_at(window: Window, slots: Mapping[int, int], *, limit: int, need: int) -> float | None:
    """Return the time when `need` fits if no more is used, in seconds since 1970; None if it is above the limit.

    Args:
        slots: amounts taken, by slot of the current window.
    """
    if need > limit:
        return None
    taken = sum(slots.values())
    for slot in sorted(slots):
        taken -= slots[slot]
        if limit - taken >= need:
            return window.free_at(slot)
    return None
