"""A plan as a tired person can read it: per node what, from what, to what, why, at what risk; then the counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sovctl.cli import show
from sovctl.engine.plan.file import Plan
from sovctl.engine.plan.resource import Change, Risk

MARKS = {"create": ("+", "green"), "update": ("~", "yellow")}
WIDEST = 34
HEX_DIGITS = 64


def show_plan(plan: Plan, *, only: str | None = None, details: bool = False) -> None:
    """Print a plan.

    Args:
        only: show this node's changes alone.
        details: one line per changed key.
    """
    if plan.simulated:
        show.line(show.style("simulated hardware: this plan is of a lab", "yellow"))
    for node in dict.fromkeys(change.node for change in plan.changes):
        if only in (None, node):
            show.line(show.style(node, "bold"))
            _show_node([change for change in plan.changes if change.node == node], details=details)
    show.line(summary(plan))


def summary(plan: Plan) -> str:
    """One line: counts, waves, restarts, minutes."""
    if not plan.changes:
        return "no changes: every node is as site.yaml says"
    verbs = Counter(change.verb.value for change in plan.changes)
    risks = Counter(change.risk for change in plan.changes if change.risk is not Risk.NONE)
    minutes = max(1, round(sum(max(_minutes(plan, node) for node in wave.nodes) for wave in plan.waves)))
    parts = [f"{verbs['create']} to create, {verbs['update']} to update"]
    parts += [f"{count} x {risk.value}" for risk, count in sorted(risks.items())]
    parts.append(f"waves: {' -> '.join('+'.join(wave.nodes) for wave in plan.waves)}")
    parts.append(f"about {minutes} min")
    return "; ".join(parts)


def _minutes(plan: Plan, node: str) -> float:
    return sum(change.minutes for change in plan.changes if change.node == node)


def _show_node(changes: list[Change], *, details: bool) -> None:
    rows = []
    for change in changes:
        before, after = _sides(change)
        rows.append([change.verb.value, f"{change.kind} {change.name}", before, after, change.risk.value, change.why])
    widths = [min(WIDEST, max(len(row[i]) for row in rows)) for i in range(1, 5)]
    for change, (verb, what, before, after, risk, why) in zip(changes, rows, strict=True):
        mark, colour = MARKS[verb]
        cells = [_fit(cell, width) for cell, width in zip((what, before, after, risk), widths, strict=True)]
        arrow = show.style("->", "dim")
        show.line(f"  {show.style(mark, colour)} {cells[0]}  {cells[1]} {arrow} {cells[2]}  {cells[3]}  {why}".rstrip())
        if details:
            for key, value in change.after.items():
                old = "" if change.before is None else change.before.get(key)
                _show_key(key, old, value)


def _show_key(key: str, old: Any, new: Any) -> None:
    if isinstance(new, list):
        gone = [line for line in old or [] if line not in new]
        come = [line for line in new if line not in (old or [])]
        show.line(f"      {key}:")
        for line in gone:
            show.line(show.style(f"        - {line}", "red"))
        for line in come:
            show.line(show.style(f"        + {line}", "green"))
    else:
        show.line(f"      {key}: {_value(old)} -> {_value(new)}")


def _sides(change: Change) -> tuple[str, str]:
    """Before and after in a few words."""
    if change.before is None:
        return "(absent)", _brief(change.after)
    return _brief(change.before, change.after), _brief(change.after, change.before)


def _brief(state: Any, other: Any = None) -> str:
    shown = []
    for key, value in state.items():
        if isinstance(value, list):
            there = (other or {}).get(key)
            missing = len([line for line in value if line not in there]) if isinstance(there, list) else len(value)
            shown.append(f"{missing} {key.replace('_', ' ')}" if missing or other is None else "")
        elif key in ("version", "fingerprint", "status"):
            shown.append(_value(value))
        elif isinstance(value, str) and len(value) == HEX_DIGITS:
            shown.append(f"{key.removesuffix('_sha256').removesuffix('_sha')} {value[:8]}")
        else:
            shown.append(f"{key}={_value(value)}")
    shown = [text for text in shown if text]
    more = len(shown) - 2
    return ", ".join(shown[:2]) + (f" +{more}" if more > 0 else "")


def _value(value: Any) -> str:
    if value is None:
        return "(none)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _fit(text: str, width: int) -> str:
    return (text if len(text) <= width else text[: width - 1] + "…").ljust(width)
