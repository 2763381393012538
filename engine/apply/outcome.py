"""Result of an apply, its error, and its records in the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sovctl.support.errors import SovctlError

from ..plan.file import Plan


class ApplyFailed(SovctlError):
    """A node does not have its planned state. Later waves were not started."""


@dataclass(frozen=True)
class Outcome:
    """Result of a complete apply."""

    run_id: str
    plan_sha256: str
    done: int
    seconds: float


def ledger_record(kind: str, plan: Plan, run_id: str, **counts: int) -> dict[str, Any]:
    """Return the ledger record of one step of an apply.

    Args:
        kind: `apply-started`, `apply-failed`, `apply-finished`.
    """
    return {
        "type": kind,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "site": plan.site,
        "plan_sha256": plan.sha256,
        "run": run_id,
        "simulated": plan.simulated,
        **counts,
    }
