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


def ledger_record(
    kind: str,
    plan: Plan,
    run_id: str,
    line: tuple[int, str],
    *,
    previous: tuple[str, int, str] | None,
    changes: int,
) -> dict[str, Any]:
    """Return the ledger record of one step of an apply.

    Args:
        kind: a value of `journal.BOUND`.
        line: number and SHA-256 of the newest line of the run's journal.
        previous: run, number and SHA-256 of the last line of the run before; `apply-started` contains them, because a
            killed run could not record its last lines.
        changes: number of changes when the run started.
    """
    record = {
        "type": kind,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "site": plan.site,
        "plan_sha256": plan.sha256,
        "run": run_id,
        "simulated": plan.simulated,
        "changes": changes,
        "journal_lines": line[0],
        "journal_sha256": line[1],
    }
    if kind == "apply-started" and previous:
        record |= dict(zip(("previous_run", "previous_lines", "previous_sha256"), previous, strict=True))
    return record
