"""Prints a plan: for each group of like nodes the changes, their risk and their reason; then waves and totals."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Sequence

from sovctl.engine.plan.file import Plan
from sovctl.engine.plan.unmanaged import Unmanaged
from sovctl.engine.resources.removal.node_removal import KIND as REMOVAL
from sovctl.engine.resources.removal.steps import LEFT
from sovctl.engine.resources.resource import Change, Risk, Verb

from .. import output
from .changes import details as detail_lines
from .changes import phrase
from .node_names import fold
from .waves import route, show_waves

MARKS = {"create": ("+", "green"), "update": ("~", "yellow"), "delete": ("-", "red")}
WIDEST = 36
"""Maximum width of the name of a resource, in characters."""
INDENT, GAP = 4, "  "
"""Characters before the first column (two spaces, the mark, one space), and text between two columns."""


def show_plan(plan: Plan, *, only: str | None = None, details: bool = False) -> None:
    """Print a plan.

    Args:
        only: name of the only node to print; None: all nodes.
        details: also print one line per changed key, and every node separately.
    """
    if plan.simulated:
        output.line(output.style("simulated hardware: this is the plan of a lab", "yellow"))
    _show_unknown(plan)
    by_node: dict[str, list[Change]] = {}
    for change in plan.changes:
        by_node.setdefault(change.node, []).append(change)
    if only is not None:
        by_node = {name: changes for name, changes in by_node.items() if name == only}
    for nodes in [[name] for name in by_node] if details else like_nodes(by_node):
        count = f" ({len(nodes)} nodes)" if len(nodes) > 1 else ""
        is_removed = by_node[nodes[0]][0].kind == REMOVAL
        output.line(output.style(fold(nodes), "bold") + count + (": node removed from site.yaml" if is_removed else ""))
        _show([[by_node[name][place] for name in nodes] for place in range(len(by_node[nodes[0]]))], details=details)
        if is_removed:
            _show_left(details=details)
    show_waves(plan.waves)
    for refusal in plan.refusals:
        output.line(output.style(f"cannot be applied: {refusal.node}: {refusal.message}", "red"))
        output.line(f"  hint: {refusal.hint}")
    _show_unmanaged([each for each in plan.unmanaged if only in (None, each.node)])
    output.line(summary(plan))


def _show_left(*, details: bool) -> None:
    """Print the things that stay on a removed node; with details, one line for each with its reason."""
    if details:
        for name, why in LEFT.items():
            output.line(f"    left on the node: {name}: {why}")
    else:
        output.line(f"    left on the node: {', '.join(LEFT)}")


def _show_unknown(plan: Plan) -> None:
    """Print the nodes that are not planned, by reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in plan.unknown.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        output.line(f"{output.style('UNKNOWN', 'red')} {fold(names)}: {reason}; not planned")


def like_nodes(by_node: dict[str, list[Change]]) -> list[list[str]]:
    """Return groups of nodes with the same changes, apart from their values, in the order of their first nodes."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, changes in by_node.items():
        signature = tuple((each.kind, _stem(each), each.verb, each.risk, each.why, _keys(each)) for each in changes)
        groups.setdefault(signature, []).append(name)
    return list(groups.values())


def _keys(change: Change) -> tuple[str, ...]:
    """Return the keys that an update changes; empty for a new resource, because ranks of a replica have other keys."""
    return tuple(change.after or ()) if change.verb is Verb.UPDATE else ()


def _show_unmanaged(things: list[Unmanaged]) -> None:
    if things:
        output.line(output.style(f"unmanaged: {len(things)}, not changed by apply", "bold"))
        for each in things:
            output.line(f"  {output.style('!', 'yellow')} {each.node}  {each.kind}  {each.name}  {each.detail}")


def summary(plan: Plan) -> str:
    """Return one line with the numbers of changes, the risks, the waves and the estimated minutes."""
    if not plan.changes:
        return f"no changes: {_covered(plan)} site.yaml"
    verbs = Counter(change.verb.value for change in plan.changes)
    risks = Counter(change.risk for change in plan.changes if change.risk is not Risk.NONE)
    minutes = max(1, round(sum(wave.minutes for wave in plan.waves)))
    parts = [f"{verbs['create']} to create, {verbs['update']} to update, {verbs['delete']} to delete"]
    parts += [f"{count} x {risk.value}" for risk, count in sorted(risks.items())]
    parts.append(route(plan.waves))
    parts.append(f"about {minutes} min")
    return "; ".join(parts)


def _covered(plan: Plan) -> str:
    """Return the part of the site that the plan covers."""
    if not plan.scope.nodes and not plan.scope.targets and not plan.unknown:
        return "every node matches"
    what = f"resources {', '.join(plan.scope.targets)} of " if plan.scope.targets else ""
    return f"{what}{fold(plan.facts_sha256)} match"


def _show(rows: Sequence[Sequence[Change]], *, details: bool) -> None:
    """Print rows of like changes, one for each resource; the changes of a row are those of its nodes."""
    cells = [_cells(changes) for changes in rows]
    widths = _widths(cells)
    for changes, row in zip(rows, cells, strict=True):
        mark, colour = MARKS[changes[0].verb.value]
        columns = [_cut(text, width).ljust(width) for text, width in zip(row, widths, strict=True)]
        output.line(f"  {output.style(mark, colour)} {GAP.join(columns)}".rstrip())
        for text, style in detail_lines(changes[0]) if details else ():
            output.line(f"      {output.style(text, style) if style else text}")


def _cells(changes: Sequence[Change]) -> tuple[str, str, str]:
    """Return resource, change, and risk with reason, of one row."""
    first, phrases = changes[0], list(dict.fromkeys(phrase(change) for change in changes))
    is_same = len({change.name for change in changes}) == 1
    name = first.name if is_same else f"{_stem(first)} ({len({change.name for change in changes})} replicas)"
    shown = phrases[0] if len(phrases) == 1 else f"{phrases[0]} (differs by node)"
    return f"{first.kind} {name}", shown, first.why if first.risk is Risk.NONE else f"{first.risk.value}; {first.why}"


def _stem(change: Change) -> str:
    """Return the name of a resource; for a replica of a pool, the name of the pool."""
    return change.name.partition(".")[0] if change.kind == "pool" else change.name


def _widths(cells: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column. On a terminal, the last two share the columns that resources leave."""
    resource, change, reason = (max(map(len, column)) for column in zip(*cells, strict=True))
    if not sys.stdout.isatty():
        return [min(WIDEST, resource), min(WIDEST, change), reason]
    columns = shutil.get_terminal_size().columns
    resource = max(1, min(WIDEST, resource, columns // 3))
    left = columns - INDENT - resource - 2 * len(GAP)
    change = max(1, min(change, left - min(reason, left // 2)))
    return [resource, change, max(1, left - change)]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width or not sys.stdout.isatty() else text[: width - 1] + "…"
