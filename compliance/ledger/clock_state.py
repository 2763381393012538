"""State of the kernel's clock (Linux, adjtimex(2)), for heartbeat records. Needs no privileges."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

_STA_UNSYNC = 0x0040  # linux/timex.h: the clock is not synchronized
_STA_NANO = 0x2000  # linux/timex.h: `offset` is in nanoseconds, else in microseconds
_TIME_ERROR = 5  # adjtimex(2): the clock is not synchronized to a server


class _Timex(ctypes.Structure):
    """`struct timex` of linux/timex.h on 64-bit systems."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 256),  # more than the remaining fields; the kernel writes 152 of these bytes
    )


@dataclass(frozen=True)
class ClockState:
    """The kernel's estimate of its clock."""

    is_synchronized: bool
    offset_us: int
    """Remaining correction, microseconds; positive if the clock is slow."""
    max_error_us: int
    """Upper bound of the error, microseconds. It grows while no time source answers."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "is_synchronized": self.is_synchronized,
            "offset_us": self.offset_us,
            "max_error_us": self.max_error_us,
        }


def read_clock() -> ClockState | None:
    """Return the state of the kernel's clock; None if the system does not provide it."""
    try:
        adjtimex = ctypes.CDLL(None, use_errno=True).adjtimex
    except (OSError, AttributeError):
        return None
    found = _Timex()
    state = adjtimex(ctypes.byref(found))
    if state < 0:
        return None
    offset_us = found.offset // 1000 if found.status & _STA_NANO else found.offset
    is_synchronized = state != _TIME_ERROR and not found.status & _STA_UNSYNC
    return ClockState(is_synchronized, int(offset_us), int(found.maxerror))
