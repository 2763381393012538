"""Verdicts of release checks.

PASS and WARN release an answer; FAIL and UNKNOWN withhold it. A check that raises is UNKNOWN. Reasons are codes, some
with a subject after a colon. They are written to the audit record, the hand-off queue and the metrics, so they hold no
text of the answer.

    verdicts = Verdicts()
    verdicts.add(Outcome("citations", Verdict.WARN, "declared-ungrounded"))
    verdicts.worst                      # Verdict.WARN
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """Verdict of a check."""

    PASS = "PASS"
    WARN = "WARN"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"

    @property
    def blocks(self) -> bool:
        """Whether the answer must be withheld."""
        return self in (Verdict.FAIL, Verdict.UNKNOWN)

    @property
    def rank(self) -> int:
        """Severity: PASS, WARN, UNKNOWN, FAIL."""
        return (Verdict.PASS, Verdict.WARN, Verdict.UNKNOWN, Verdict.FAIL).index(self)


CHECKS = ("citations", "forbidden", "identifiers", "json_schema")
"""Names of all checks in settings, audit records and metrics."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Verdict of one check on one part of an answer."""

    check: str
    verdict: Verdict
    reason: str = ""
    """Reason code; empty for PASS."""


class AnswerWithheld(Exception):
    """The answer must be withheld. The message holds the check and the reason code."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(f"{outcome.check}:{outcome.reason}")
        self.outcome = outcome


@dataclass
class Verdicts:
    """All outcomes of one answer."""

    of: dict[str, Verdict] = field(default_factory=dict)
    """Worst verdict by check."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Number of outcomes by `check:reason`; PASS has no reason."""

    def add(self, outcome: Outcome) -> None:
        """Add an outcome.

        Raises:
            AnswerWithheld: its verdict is FAIL or UNKNOWN; the outcome is added first.
        """
        before = self.of.get(outcome.check)
        if before is None or outcome.verdict.rank > before.rank:
            self.of[outcome.check] = outcome.verdict
        if outcome.reason:
            self.reasons[f"{outcome.check}:{outcome.reason}"] += 1
        if outcome.verdict.blocks:
            raise AnswerWithheld(outcome)

    @property
    def worst(self) -> Verdict:
        """Worst verdict of all checks; PASS without one."""
        return max(self.of.values(), key=lambda verdict: verdict.rank, default=Verdict.PASS)

    def plain(self) -> dict[str, object]:
        """Return codes and counts for the audit record."""
        return {"verdicts": dict(self.of), "reasons": dict(sorted(self.reasons.items()))}
