"""The five verdicts of a check."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """Result of a check on one target.

    UNKNOWN: the target was not measured, or could not be; it blocks like FAIL. N/A: the probe reported that the target
    does not have the checked component.
    """

    PASS = "PASS"
    WARN = "WARN"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"
    NOT_APPLICABLE = "N/A"

    @property
    def blocks(self) -> bool:
        """Whether this verdict stops an apply wave and fails `sovctl verify`."""
        return self in (Verdict.FAIL, Verdict.UNKNOWN)
