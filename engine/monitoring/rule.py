"""Rules of Prometheus as values, and their form in a rule file.

Alert("SovctlTargetDown", "up == 0", minutes=2, severity=Severity.CRITICAL, summary="...", action="...")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

RUNBOOK = "docs/runbooks/alerts.md"


class Severity(StrEnum):
    """Urgency of an alert, for the routes of Alertmanager."""

    CRITICAL = "critical"
    """A person must act now."""
    WARNING = "warning"
    """A person must act on the next working day."""
    NONE = "none"
    """No action: the heartbeat."""


@dataclass(frozen=True)
class Recording:
    """A recording rule.

    Args:
        record: name of the new series.
        expr: PromQL.
        labels: set on the new series.
    """

    record: str
    expr: str
    labels: Mapping[str, str] = field(default_factory=dict)
    hold_s: int = field(default=0, init=False)
    """Recording rules hold at once."""

    @property
    def name(self) -> str:
        """Name of the new series."""
        return self.record

    @property
    def all_labels(self) -> dict[str, str]:
        """Labels in the rule file."""
        return dict(self.labels)

    def as_json(self) -> dict[str, Any]:
        """Return the rule as in a rule file."""
        labels = {"labels": dict(self.labels)} if self.labels else {}
        return {"record": self.record, "expr": self.expr, **labels}


@dataclass(frozen=True)
class Alert:
    """An alerting rule.

    Args:
        name: also the heading of its section in the runbook.
        expr: PromQL; its series have the labels `node` or `pool` if the alert has a place.
        summary: one sentence with the place.
        minutes: for which the expression must hold.
        seconds: the same, in addition.
        labels: set on the alert, in addition to the severity.
    """

    name: str
    expr: str
    severity: Severity
    summary: str
    minutes: int = 0
    seconds: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def hold_s(self) -> int:
        """Seconds for which the expression must hold."""
        return self.minutes * 60 + self.seconds

    @property
    def all_labels(self) -> dict[str, str]:
        """Labels in the rule file."""
        return {"severity": self.severity.value, **self.labels}

    def as_json(self) -> dict[str, Any]:
        """Return the rule as in a rule file."""
        return {
            "alert": self.name,
            "expr": self.expr,
            **({"for": _duration(self.hold_s)} if self.hold_s else {}),
            "labels": self.all_labels,
            "annotations": {"summary": self.summary, "runbook": f"{RUNBOOK}#{self.name.lower()}"},
        }


def _duration(seconds: int) -> str:
    return f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"


@dataclass(frozen=True)
class Group:
    """Rules that Prometheus evaluates in order, at the same time."""

    name: str
    rules: tuple[Recording | Alert, ...]

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """The alerting rules."""
        return tuple(rule for rule in self.rules if isinstance(rule, Alert))


def rule_file(groups: Iterable[Group]) -> dict[str, Any]:
    """Return the content of a rule file; groups without rules are omitted."""
    return {
        "groups": [
            {"name": group.name, "rules": [rule.as_json() for rule in group.rules]} for group in groups if group.rules
        ]
    }
