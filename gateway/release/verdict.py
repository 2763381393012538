"""What a check says of an answer, and what follows from it.

PASS and WARN release; FAIL and UNKNOWN do not. A check that raises has found nothing out, so it is UNKNOWN. Reasons are
codes with what they are about after a colon; they go to the audit record, the hand-off queue and the metrics, so they
never hold a word of the answer.

    verdicts = Verdicts()
    verdicts.add(Outcome("citations", Verdict.WARN, "declared-ungrounded"))
    verdicts.worst                      # Verdict.WARN
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """From good to bad."""

    PASS = "PASS"
    WARN = "WARN"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"

    @property
    def blocks(self) -> bool:
        """True when the answer must not be released."""
        return self in (Verdict.FAIL, Verdict.UNKNOWN)

    @property
    def rank(self) -> int:
        """Larger is worse: what failed is known to be wrong; what is unknown may be."""
        return (Verdict.PASS, Verdict.WARN, Verdict.UNKNOWN, Verdict.FAIL).index(self)


CHECKS = ("citations", "forbidden", "identifiers", "json_schema")
"""Names of all checks, as settings, audit and metrics write them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one check says of one piece of an answer."""

    check: str
    verdict: Verdict
    reason: str = ""
    """Empty for PASS."""


class AnswerWithheld(Exception):
    """The answer must not be released. Its text is the check and the reason, nothing else."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(f"{outcome.check}:{outcome.reason}")
        self.outcome = outcome


@dataclass
class Verdicts:
    """All outcomes of one answer, counted."""

    of: dict[str, Verdict] = field(default_factory=dict)
    """The worst verdict of each check that was made."""
    reasons: Counter[str] = field(default_factory=Counter)
    """How often which `check:reason` was given; PASS has none."""

    def add(self, outcome: Outcome) -> None:
        """Take in an outcome.

        Raises:
            AnswerWithheld: it blocks; it is taken in all the same.
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
        """Of all checks; PASS when none was made."""
        return max(self.of.values(), key=lambda verdict: verdict.rank, default=Verdict.PASS)

    def plain(self) -> dict[str, object]:
        """For the audit record: codes and counts."""
        return {"verdicts": dict(self.of), "reasons": dict(sorted(self.reasons.items()))}
