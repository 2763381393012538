"""Compares the reported rows of a round with the injected kinds. Pure.

A row is explained if an injected kind names it. The row of a restart is also explained if an injected kind names it as
a restart, and the cause in the row names the change. Every other row is a false one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from .kind import Kind

_Plan = Mapping[str, Any]
RESTART_KEYS = {"runs_what_is_written", "running_engine", "active"}
"""Keys of the row of a restart."""
SUPERSEDED = "superseded_environment"
"""Resource type whose row follows from the row of the environment of which the name begins with the same word."""


@dataclass(frozen=True)
class KindScore:
    """Result of one kind.

    Args:
        found_by: `plan`, `verify`, or empty.
        is_corrected: whether apply corrected it, and no later plan or verification reports it; None if it is only
            reported.
    """

    id: str
    found_by: str
    is_corrected: bool | None


@dataclass(frozen=True)
class Score:
    """Result of one round; ids of rows, sorted.

    Args:
        kinds: one for each injected kind, in their order.
        reported: number of rows of the plans.
        false_rows: rows that no kind explains.
        left: rows of the plan after apply and restore.
        failures: messages of commands and of an apply that failed.
    """

    kinds: tuple[KindScore, ...]
    reported: int
    false_rows: tuple[str, ...]
    left: tuple[str, ...]
    failures: tuple[str, ...]


def score(
    injected: Sequence[Kind],
    plan: _Plan,
    verified: _Plan,
    left: Collection[str],
    *,
    known: Collection[str] = (),
    failures: Sequence[str] = (),
    has_failed: bool = False,
) -> Score:
    """Return the score of a round.

    Args:
        plan: document of `sovctl plan --json` after the injection.
        verified: document of `sovctl plan --json` after a later `sovctl verify`, which is an input of that plan.
        left: ids of changes and unmanaged things after apply, restore and a last verification.
        known: rows that an earlier round left.
        failures: messages of commands and of an apply that failed.
        has_failed: whether apply failed, or a kind was not restored. No kind of this round counts as corrected then.
    """
    first, second = rows(plan) - set(known), rows(verified) - set(known)
    false_rows = {row for row in first if not _explained(row, plan, injected)}
    false_rows |= {row for row in second - first if not _explained(row, verified, injected)}
    return Score(
        kinds=tuple(_kind_score(kind, plan, verified, left, has_failed=has_failed) for kind in injected),
        reported=len(first | second),
        false_rows=tuple(sorted(false_rows)),
        left=tuple(sorted(set(left) - set(known))),
        failures=tuple(failures),
    )


def rows(plan: _Plan) -> set[str]:
    """Return the ids of the changes and of the unmanaged things of a plan."""
    return {each["id"] for each in (*plan["changes"], *plan["unmanaged"])}


def _kind_score(kind: Kind, plan: _Plan, verified: _Plan, left: Collection[str], *, has_failed: bool) -> KindScore:
    found_by = "plan" if _has(plan, kind) else "verify" if _has(verified, kind) else ""
    if kind.is_reported_only:
        return KindScore(kind.id, found_by, None)
    is_corrected = bool(found_by) and not has_failed and not {kind.row, *kind.also} & set(left)
    return KindScore(kind.id, found_by, is_corrected)


def _has(plan: _Plan, kind: Kind) -> bool:
    """Return whether a plan has the row of a kind, with its key."""
    if any(fnmatchcase(each["id"], kind.row) for each in plan["unmanaged"]):
        return True
    found = next((each for each in plan["changes"] if fnmatchcase(each["id"], kind.row)), None)
    return found is not None and (found["before"] is None or kind.key in json.dumps(found["before"]))


def _explained(row: str, plan: _Plan, injected: Sequence[Kind]) -> bool:
    if any(fnmatchcase(row, kind.row) or row in kind.also for kind in injected):
        return True
    node, resource, name = row.split("/", 2)
    if resource == SUPERSEDED:
        return any(kind.row == f"{node}/environment/{name.partition('-')[0]}" for kind in injected)
    change = next((each for each in plan["changes"] if each["id"] == row), None)
    return change is not None and any(row in kind.restarts and _is_cause(kind, change) for kind in injected)


def _is_cause(kind: Kind, change: Mapping[str, Any]) -> bool:
    """Return whether a row is a restart only, and its cause names the change: the resource, or the changed path."""
    keys = {*(change["before"] or {}), *(change["after"] or {})}
    _, resource, name = kind.row.split("/", 2)
    text = json.dumps([change["why"], change["before"]])
    return keys <= RESTART_KEYS and any(each in text for each in (f"{resource} {name}", f"/{name}"))
