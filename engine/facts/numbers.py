"""Numbers in the output of tools: ASCII digits of a bounded length, so that damaged output cannot raise or stall.

`int` raises ValueError for more than 4,300 digits, and `float` returns infinity for more than 308.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime

from .unreadable import Unreadable

DIGITS = 20  # 2^64 has 20
_LONGEST = 40
_WHOLE = re.compile(rf"-?[0-9]{{1,{DIGITS}}}")
_DECIMAL = re.compile(rf"-?[0-9]{{1,{DIGITS}}}(?:\.[0-9]{{1,{DIGITS}}})?(?![0-9.])")


def whole_number(text: str | None) -> int | None:
    """Return the integer that the whole text is; None for another text, or more than 20 digits."""
    return int(text) if text is not None and _WHOLE.fullmatch(text) else None


def integer(text: str, base: int = 10) -> int:
    """Return the integer that the whole text is.

    Raises:
        Unreadable: the text is not an integer of this base, or has more than 40 characters.
    """
    try:  # not `suppress`, which takes longer than `int`
        if len(text) <= _LONGEST:
            return int(text, base)
    except ValueError:
        pass
    raise Unreadable(f"an integer of at most {_LONGEST} characters", text, where="number")


def unix_time(text: str) -> datetime:
    """Return the time of Unix seconds, in UTC.

    Raises:
        Unreadable: the text is not an integer, or the year is beyond 9999.
    """
    with suppress(ValueError, OverflowError):
        return datetime.fromtimestamp(integer(text), UTC)
    raise Unreadable("Unix seconds of a year below 10000", text, where="time")


def leading_number(text: str | None) -> float | None:
    """Return the number at the start of a text, such as 700.0 of `700.00 W`; None without one."""
    match = _DECIMAL.match(text or "")
    return float(match.group()) if match else None
