"""Days until a finding must be closed, by the severity of its check. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True)
class Deadline:
    """The period of one severity.

    Args:
        value: days after the first failure, at least 1.
    """

    severity: str
    value: int
    kind: Literal["standard", "guess"]
    date: str
    source: str
    unit: str = "days"


DEADLINES: Mapping[str, Deadline] = MappingProxyType(
    {
        row.severity: row
        for row in (
            Deadline("critical", 15, "standard", "2026-11-28", "CISA BOD 19-02 (2019-04-29): critical, 15 days"),
            Deadline("high", 30, "standard", "2026-11-28", "CISA BOD 19-02 and FedRAMP POA&M: high, 30 days"),
            Deadline("medium", 90, "standard", "2026-11-28", "FedRAMP POA&M: moderate, 90 days"),
            Deadline("low", 180, "standard", "2026-11-28", "FedRAMP POA&M: low, 180 days"),
        )
    }
)
"""From most to least severe."""


def days_of(severity: str, of_site: Mapping[str, int]) -> int:
    """Return the days for a severity; a site can shorten them, and not lengthen them.

    Args:
        of_site: days of site.yaml by severity.
    """
    default = DEADLINES[severity].value
    return min(default, of_site.get(severity, default))


def deadline_of(severity: str, first_failed: date, of_site: Mapping[str, int]) -> date:
    """Return the last day on which a finding must be closed."""
    return first_failed + timedelta(days=days_of(severity, of_site))
