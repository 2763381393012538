"""First screen of a report: scope, coverage, failures, and open questions as plain numbers and sentences. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .heat_map import Column


@dataclass(frozen=True)
class Tile:
    """One number of the first screen."""

    label: str
    value: str
    meaning: str
    link: str
    """Fragment of the page."""
    state: str
    """State whose colour the tile has; empty for none."""


def headline(document: Mapping[str, Any]) -> str:
    """Return the result in one sentence."""
    summary = document["summary"]
    states, total = summary["states"], summary["total"]
    if states["fail"]:
        return f"{states['fail']} of {total} controls failed."
    if not summary["decided"]:
        return f"None of {total} controls has evidence."
    if states["error"]:
        return f"No control failed, and {states['error']} have no complete result."
    return f"No failure in the {summary['decided']} controls with a result; the framework has {total}."


def tiles(document: Mapping[str, Any]) -> list[Tile]:
    """Return the numbers, in the order of the screen."""
    summary, rows = document["summary"], document["poam"]
    states, total, decided = summary["states"], summary["total"], summary["decided"]
    findings = [row for row in rows if row["kind"] == "finding"]
    overdue = sum(row["is_overdue"] for row in rows)
    accepted = [row["deadline"] for row in rows if row["kind"] in ("waived", "deviation")]
    expiry = f"; the first ends on {min(accepted)}" if accepted else ""
    return [
        Tile(
            "Covered",
            f"{decided} of {total}",
            f"{percent(decided, total)} of the controls have evidence or an attestation",
            "#controls",
            "",
        ),
        Tile(
            "Failed",
            str(states["fail"]),
            f"controls, because of {_number(len(findings), 'open finding')}"
            if findings
            else "controls with a failed check",
            "#findings",
            "fail" if states["fail"] else "",
        ),
        Tile(
            "Without a complete result",
            str(states["error"]),
            "controls: a check or target gave no answer, so they do not count as passed",
            "#findings",
            "error" if states["error"] else "",
        ),
        Tile(
            "Not looked at",
            str(states["not-run"]),
            "controls without evidence and without attestation",
            "#not-run",
            "not-run",
        ),
        Tile(
            "Accepted by people",
            f"{states['waived']} + {states['attested']}",
            f"waived failures and attested controls{expiry}",
            "#exceptions",
            "waived" if states["waived"] else "",
        ),
        Tile(
            "Plan of action",
            str(len(rows)),
            f"rows with owner and date, {overdue} overdue" if rows else "rows: none is open",
            "#plan",
            "fail" if overdue else "",
        ),
    ]


def scope_sentence(document: Mapping[str, Any], columns: Sequence[Column]) -> str:
    """Return the number of nodes, checks and records of the run."""
    nodes = sum(node != "site" for column in columns for node in column.nodes)
    checks = len({item["record"]["check_id"] for item in document["evidence"]})
    run = document["run"]
    parts = [_number(nodes, "node"), _number(checks, "check"), _number(run["records"], "evidence record")]
    return ", ".join(parts)


def percent(part: int, total: int) -> str:
    """Return a share without rounding up to 100 % or down to 0 %."""
    if not total or not part:
        return "0 %"
    value = 100 * part / total
    if part < total and value > 99:
        return "more than 99 %"
    return f"{value:.0f} %" if value >= 1 else "less than 1 %"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
