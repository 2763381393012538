"""Reasons why a recording is refused. The gateway process imports no decoder."""

from __future__ import annotations

from enum import StrEnum


class Problem(StrEnum):
    """Reason why a recording is refused."""

    UNREADABLE = "unreadable"
    """Not in an accepted format, damaged, without sound, or decoding needs more than its limits."""
    TOO_LONG = "too-long"
