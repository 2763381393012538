"""Prints a plan: for each node the changes with old value, new value, risk and reason; then the totals."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from typing import Any

from sovctl.engine.plan.file import Plan
from sovctl.engine.resources.resource import Change, Risk

from .. import output
from .waves import route, show_waves

MARKS = {"create": ("+", "green"), "update": ("~", "yellow"), "delete": ("-", "red")}
WIDEST = 34
"""Maximum width of a column, in characters; on a terminal, lines are also cut at its width."""
SHORT = {"is_held": ("not held", "held"), "runs_what_is_written": ("runs old files", "runs current files")}
"""Labels of boolean values by key: (false, true)."""
RUNNING = "running_"
"""Prefix of keys with the flags, variables and engine of a process, of which a line shows each difference."""
HEX_DIGITS = 64
INDENT = 4
"""Characters before the first column: two spaces, the mark, one space."""


def show_plan(plan: Plan, *, only: str | None = None, details: bool = False) -> None:
    """Print a plan.

    Args:
        only: name of the only node to print; None: all nodes.
        details: also print one line per changed key.
    """
    if plan.simulated:
        output.line(output.style("simulated hardware: this is the plan of a lab", "yellow"))
    for node in dict.fromkeys(change.node for change in plan.changes):
        if only in (None, node):
            output.line(output.style(node, "bold"))
            _show_node([change for change in plan.changes if change.node == node], details=details)
    show_waves(plan.waves)
    for refusal in plan.refusals:
        output.line(output.style(f"cannot be applied: {refusal.node}: {refusal.message}", "red"))
        output.line(f"  hint: {refusal.hint}")
    output.line(summary(plan))


def summary(plan: Plan) -> str:
    """Return one line with the numbers of changes, the risks, the waves and the estimated minutes."""
    if not plan.changes:
        return "no changes: every node matches site.yaml"
    verbs = Counter(change.verb.value for change in plan.changes)
    risks = Counter(change.risk for change in plan.changes if change.risk is not Risk.NONE)
    minutes = max(1, round(sum(wave.minutes for wave in plan.waves)))
    parts = [f"{verbs['create']} to create, {verbs['update']} to update, {verbs['delete']} to delete"]
    parts += [f"{count} x {risk.value}" for risk, count in sorted(risks.items())]
    parts.append(route(plan.waves))
    parts.append(f"about {minutes} min")
    return "; ".join(parts)


def _show_node(changes: list[Change], *, details: bool) -> None:
    rows = []
    for change in changes:
        before, after = _sides(change)
        risk = "" if change.risk is Risk.NONE else change.risk.value
        rows.append([f"{change.kind} {change.name}", before, after, risk])
    widths = [min(WIDEST, max(map(len, column))) for column in zip(*rows, strict=True)]
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for change, row in zip(changes, rows, strict=True):
        mark, colour = MARKS[change.verb.value]
        what, before, after, risk = (_fit(cell, width) for cell, width in zip(row, widths, strict=True))
        text = f"{what}  {before} -> {after}  {f'{risk}  ' if widths[3] else ''}{change.why}".rstrip()
        output.line(f"  {output.style(mark, colour)} {_cut(text, columns - INDENT) if columns > INDENT else text}")
        if details:
            for key in change.after or change.before or {}:
                _show_key(key, (change.before or {}).get(key), (change.after or {}).get(key))


def _show_key(key: str, old: Any, new: Any) -> None:
    if isinstance(new, list) or isinstance(old, list):
        removed = [line for line in old or [] if line not in (new or [])]
        added = [line for line in new or [] if line not in (old or [])]
        output.line(f"      {key}:")
        for line in removed:
            output.line(output.style(f"        - {line}", "red"))
        for line in added:
            output.line(output.style(f"        + {line}", "green"))
    else:
        output.line(f"      {key}: {_value(old)} -> {_value(new)}")


def _sides(change: Change) -> tuple[str, str]:
    """Return the old and the new state, shortened."""
    if change.before is None:
        return "(absent)", _brief(change.after)
    if change.after is None:
        return _brief(change.before), "(removed)"
    return _brief(change.before, change.after), _brief(change.after, change.before)


def _brief(state: Any, other: Any = None) -> str:
    shown = []
    for key, value in state.items():
        if isinstance(value, list):
            there = (other or {}).get(key)
            missing = [line for line in value if line not in there] if isinstance(there, list) else value
            if key.startswith(RUNNING) and isinstance(there, list):
                shown += [f"runs {line}" for line in missing]
            else:
                shown.append(f"{len(missing)} {key.replace('_', ' ')}" if missing or other is None else "")
        elif key in ("version", "fingerprint", "status"):
            shown.append(_value(value))
        elif isinstance(value, str) and len(value) == HEX_DIGITS:
            shown.append(f"{key.removesuffix('_sha256').removesuffix('_sha')} {value[:8]}")
        elif key in SHORT and isinstance(value, bool):
            shown.append(SHORT[key][value])
        elif key in SHORT and isinstance(value, str):
            shown.append(value)
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
    return _cut(text, width).ljust(width)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
