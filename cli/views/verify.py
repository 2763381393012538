"""Prints the verdicts of `sovctl verify`: the worst first, and like results of several targets as one row."""

from __future__ import annotations

from collections.abc import Iterable

from sovctl.compliance.verdict import Verdict

from .. import output
from .node_names import fold

WIDEST = 24
"""Maximum width of the names of several targets, in characters."""
WORST_FIRST = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN, Verdict.PASS, Verdict.NOT_APPLICABLE)


def show_verdicts(results: Iterable[tuple[Verdict, str, str, str]]) -> None:
    """Print a table.

    Args:
        results: verdict, target, check and reason of each result.
    """
    targets: dict[tuple[Verdict, str, str], list[str]] = {}
    for verdict, target, check, reason in results:
        targets.setdefault((verdict, check, reason), []).append(target)
    rows = sorted(targets.items(), key=lambda row: WORST_FIRST.index(row[0][0]))
    output.table(
        ("VERDICT", "TARGET", "CHECK", "REASON"),
        [(verdict.value, _short(names), check, reason) for (verdict, check, reason), names in rows],
    )


def _short(names: list[str]) -> str:
    folded = fold(names)
    return folded if len(folded) <= WIDEST else f"{names[0]} and {len(names) - 1} more"
