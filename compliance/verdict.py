"""The five verdicts. Not measured is never healthy."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What a check says of one target.

    UNKNOWN means that it was not, or could not be, measured; it blocks like FAIL and never counts as passed. N/A is
    only for what the probe positively says the target does not have.
    """

    PASS = "PASS"
    WARN = "WARN"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"
    NOT_APPLICABLE = "N/A"

    @property
    def blocks(self) -> bool:
        """True when admission, an apply wave or a release must stop here."""
        return self in (Verdict.FAIL, Verdict.UNKNOWN)
