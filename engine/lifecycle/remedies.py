"""Ladder of remedies for a sick node: the next one depends on the faults of the last days. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

REPEAT_WINDOW = timedelta(days=7)
"""A fault within this time after the last remedy needs the next remedy. A guess."""


class Remedy(StrEnum):
    """Remedies in the order of their effect."""

    RESTART_APPLICATION = "restart-application"
    RESET_GPU = "reset-gpu"
    REBOOT = "reboot"
    AC_CYCLE = "ac-cycle"
    ISOLATE = "isolate"


LADDER = tuple(Remedy)


def next_remedy(
    earlier: Iterable[tuple[datetime, Remedy]], now: datetime, *, least: Remedy = Remedy.RESTART_APPLICATION
) -> Remedy:
    """Return the remedy for a new fault.

    Args:
        earlier: remedies of this node with their times, in any order.
        least: lowest remedy that can help, such as the one in the vendor's catalogue of Xid errors.
    """
    tried = [LADDER.index(remedy) for time, remedy in earlier if timedelta(0) <= now - time <= REPEAT_WINDOW]
    step = max((index + 1 for index in tried), default=0)
    return LADDER[min(max(step, LADDER.index(least)), len(LADDER) - 1)]
