"""Windows of limits as sums of slots: pure arithmetic.

A slot is the smallest time that is counted by itself. A minute is the slot of now and the twelve before it, five
seconds each: whatever 60 seconds one looks at lie within thirteen such slots, so a limit on their sum holds in any of
them.
A day and a month are one slot each, by UTC's calendar.

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
"""A lease is a sixteenth of what is left: many requests a lease at first, no hoarding near the end."""


class Window(StrEnum):
    """What a limit is counted over."""

    MINUTE = "minute"
    DAY = "day"
    MONTH = "month"

    def slot(self, now: float) -> int:
        """The slot of a time in seconds since 1970."""
        if self is Window.MINUTE:
            return int(now // SLOT_S)
        if self is Window.DAY:
            return int(now // _DAY_S)
        day = time.gmtime(now)
        return day.tm_year * 12 + day.tm_mon - 1

    def starts(self, slot: int) -> float:
        """When a slot begins; it ends when the next begins."""
        if self is Window.MINUTE:
            return float(slot * SLOT_S)
        if self is Window.DAY:
            return float(slot * _DAY_S)
        return float(calendar.timegm((slot // 12, slot % 12 + 1, 1, 0, 0, 0)))

    def first(self, slot: int) -> int:
        """The oldest slot that counts together with `slot`."""
        return slot - _SLOTS + 1 if self is Window.MINUTE else slot

    def free_at(self, slot: int) -> float:
        """When what was used in `slot` counts no longer."""
        return self.starts(slot + (_SLOTS if self is Window.MINUTE else 1))


def granted(*, limit: int, taken: int, need: int, wanted: int) -> int:
    """How much of a limit a process gets: what it needs, more if there is, or nothing at all.

    Args:
        taken: by everybody, in the window of now.
        need: less is of no use.
        wanted: how much those who wait would like together.
    """
    left = limit - taken
    return 0 if left < max(1, need) else min(left, max(need, wanted, left // _SHARE))


def retry_at(window: Window, slots: Mapping[int, int], *, limit: int, need: int) -> float | None:
    """When `need` will fit, if nobody uses more; None when it never will.

    Args:
        slots: what was taken, by slot of the window of now.
    """
    if need > limit:
        return None
    taken = sum(slots.values())
    for slot in sorted(slots):
        taken -= slots[slot]
        if limit - taken >= need:
            return window.free_at(slot)
    return None
