"""Events of a ledger for a SIEM: severity, category and type by record type. All formats read this table. Pure.

Categories and types are those of ECS 8.17 (`event.category`, `event.type`). A record type that the table omits is
INFORMATIONAL, `configuration` and `info`. Severities are chosen by sovctl.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """Severity of an event; values of OCSF `severity_id`."""

    INFORMATIONAL = 1
    LOW = 2
    MEDIUM = 3
    HIGH = 4


@dataclass(frozen=True)
class EventKind:
    """Row of the table.

    Args:
        category, type: values of ECS.
        is_failure: whether the event is the failure of an action.
    """

    severity: Severity = Severity.INFORMATIONAL
    category: str = "configuration"
    type: str = "info"
    is_failure: bool = False


_INFORMATIONAL, _LOW, _MEDIUM, _HIGH = Severity

KINDS: Mapping[str, EventKind] = {
    "apply-started": EventKind(type="start"),
    "apply-finished": EventKind(type="end"),
    "apply-wave": EventKind(type="change"),
    "apply-step": EventKind(type="change"),
    "apply-failed": EventKind(_MEDIUM, type="error", is_failure=True),
    "apply-interrupted": EventKind(_MEDIUM, type="error", is_failure=True),
    "audit-read": EventKind(_LOW, category="database", type="access"),
    "authority-installed": EventKind(_MEDIUM, category="iam", type="change"),
    "bmc-action": EventKind(_MEDIUM, category="host", type="change"),
    "bundle-approved": EventKind(_LOW, category="package", type="allowed"),
    "bundle-published": EventKind(_LOW, category="package", type="installation"),
    "bundle-rejected": EventKind(_MEDIUM, category="package", type="denied"),
    "evidence": EventKind(category="configuration", type="info"),
    "foreign-evidence": EventKind(category="vulnerability", type="info"),
    "gateway.admin": EventKind(_LOW, category="iam", type="admin"),
    "gateway.answer": EventKind(category="web", type="end"),
    "gateway.erased": EventKind(_MEDIUM, category="database", type="deletion"),
    "gateway.fallback": EventKind(_LOW, category="web", type="change"),
    "gateway.handoff": EventKind(_LOW, category="web", type="change"),
    "gateway.policy": EventKind(_MEDIUM, category="configuration", type="change"),
    "gateway.request": EventKind(category="web", type="access"),
    "gateway.search": EventKind(category="database", type="access"),
    "gateway.stale-read": EventKind(_MEDIUM, category="database", type="error", is_failure=True),
    "gateway.start": EventKind(category="process", type="start"),
    "gateway.stop": EventKind(_LOW, category="process", type="end"),
    "host-key-enrolled": EventKind(_MEDIUM, category="iam", type="creation"),
    "key-rotated": EventKind(_MEDIUM, category="iam", type="change"),
    "node-breaker": EventKind(_MEDIUM, category="host", type="error", is_failure=True),
    "node-event": EventKind(category="host", type="change"),
    "node-removed": EventKind(_LOW, category="host", type="deletion"),
    "pruned": EventKind(_LOW, category="database", type="deletion"),
    "recovered": EventKind(_MEDIUM, category="database", type="error"),
    "report-signed": EventKind(_LOW, category="configuration", type="info"),
    "scaling-failed": EventKind(_MEDIUM, category="configuration", type="error", is_failure=True),
    "standing-plan-approved": EventKind(_LOW, category="configuration", type="allowed"),
    "standing-plan-revoked": EventKind(_LOW, category="configuration", type="denied"),
    "waivers": EventKind(_MEDIUM, category="configuration", type="change"),
}


def kind_of(record_type: str) -> EventKind:
    """Return the row of a record type."""
    return KINDS.get(record_type, EventKind())
