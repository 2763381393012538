"""Days for which evidence counts: one rule for each kind of check. Pure.

A record states its own expiry, so that an auditor needs no table. After it, the target counts as not run. FAIL does
not expire: a failure ends with a new measurement, not with time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Literal

from ..verdict import Verdict


@dataclass(frozen=True)
class FreshnessRule:
    """The period of one kind of check.

    Args:
        applies_to: pattern of check ids, such as `clock.*`, or `active` for tests that put load on a node.
        value: days, at least 1.
    """

    applies_to: str
    value: int
    kind: Literal["standard", "guess"]
    date: str
    source: str
    unit: str = "days"


ACTIVE = "active"
# The first rule that applies counts.
RULES = (
    FreshnessRule(ACTIVE, 365, "standard", "2026-11-28", "FedRAMP continuous monitoring: annual assessment"),
    FreshnessRule("firmware.*", 90, "guess", "2026-11-28", "vendors of servers publish firmware about once a quarter"),
    FreshnessRule("clock.*", 7, "guess", "2026-11-28", "at 100 ppm a clock drifts 60 s in 7 days"),
    FreshnessRule("gateway.*", 7, "guess", "2026-11-28", "settings and clients of the gateway change every week"),
    FreshnessRule("perimeter.*", 7, "guess", "2026-11-28", "a rule of a firewall is changed within minutes"),
    FreshnessRule("site.*", 7, "guess", "2026-11-28", "keys and ledger of the controller change with every run"),
    FreshnessRule("*", 30, "standard", "2026-11-28", "FedRAMP continuous monitoring: scans at least once a month"),
)


def rule_of(check_id: str, *, is_active: bool = False) -> FreshnessRule:
    """Return the freshness rule of a check."""
    return next(
        rule
        for rule in RULES
        if (rule.applies_to == ACTIVE and is_active)
        or (rule.applies_to != ACTIVE and fnmatchcase(check_id, rule.applies_to))
    )


def expiry(check_id: str, ended: str, *, is_active: bool = False) -> str:
    """Return the UTC time at which a record that ended at `ended` expires, to the second."""
    last = datetime.fromisoformat(ended) + timedelta(days=rule_of(check_id, is_active=is_active).value)
    return f"{last.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def is_stale(expires: str, verdict: str, at: str) -> bool:
    """Return whether a record no longer counts at a time.

    Args:
        expires: of the record; UTC, to the second.
        at: UTC, such as `2026-11-21T10:30:00Z`.
    """
    return verdict != Verdict.FAIL and expires[:19] <= at[:19]
