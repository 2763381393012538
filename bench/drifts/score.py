"""Compares the reported rows of a round with the injected kinds. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .kinds import Kind

FOLLOWING = ("superseded_environment",)
"""Resource types whose rows follow from another row."""
RESTARTED = ("after a restart",)


@dataclass(frozen=True)
class Score:
    """Result of one round; ids of kinds and of rows, sorted.

    Args:
        missed_by_plan: kinds that a plan does not report.
        missed: kinds that neither plan nor verify reports.
        false_rows: rows that no kind explains.
        left: rows of the plan after apply and restore.
    """

    kinds: tuple[str, ...]
    missed_by_plan: tuple[str, ...]
    missed: tuple[str, ...]
    false_rows: tuple[str, ...]
    left: tuple[str, ...]


def score(
    injected: Sequence[Kind], plan: Mapping[str, Any], verified: Mapping[str, Any], left: Collection[str]
) -> Score:
    """Return the score of a round.

    Args:
        plan: document of `sovctl plan --json` after the injection.
        verified: document of `sovctl plan --json` after a later `sovctl verify`, which is an input of that plan.
        left: ids of changes and unmanaged things after apply and restore.
    """
    first, second = rows(plan), rows(verified)
    missed_by_plan = [kind.id for kind in injected if not _is_in(kind, first)]
    missed = [kind.id for kind in injected if not _is_in(kind, first | second)]
    explained = {kind.row for kind in injected}
    false_rows = sorted(row for row in first if not any(_matches(row, each) for each in explained))
    return Score(
        tuple(sorted(kind.id for kind in injected)),
        tuple(sorted(missed_by_plan)),
        tuple(sorted(missed)),
        tuple(row for row in false_rows if not _follows(row, plan, explained)),
        tuple(sorted(left)),
    )


def rows(plan: Mapping[str, Any]) -> set[str]:
    """Return the ids of the changes and of the unmanaged things of a plan."""
    return {each["id"] for each in (*plan["changes"], *plan["unmanaged"])}


def _is_in(kind: Kind, found: Collection[str]) -> bool:
    return any(_matches(row, kind.row) for row in found)


def _matches(row: str, wanted: str) -> bool:
    return row == wanted


def _follows(row: str, plan: Mapping[str, Any], explained: Collection[str]) -> bool:
    """Return whether a row follows from an injected one on its node: a restart, a removal, a stopped dependant."""
    node, kind, _ = row.split("/", 2)
    if not any(each.startswith(f"{node}/") for each in explained):
        return False
    change = next((each for each in plan["changes"] if each["id"] == row), None)
    if change is None:
        return False
    after = change["after"] or {}
    restarts = set(after) <= {"runs_what_is_written", "running_engine", "active", "started"}
    return kind in FOLLOWING or restarts
