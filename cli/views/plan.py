"""Prints a plan: for each group of like nodes the changes, their risk and their reason; then waves and totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sovctl.engine.plan.file import Plan
from sovctl.engine.plan.unmanaged import Unmanaged
from sovctl.engine.resources.removal.node_removal import KIND as REMOVAL
from sovctl.engine.resources.removal.steps import LEFT
from sovctl.engine.resources.resource import Change, Risk, Verb

from .. import output
from .changes import details as detail_lines
from .node_names import fold
from .rows import lines_of, merged, row_of, stem
from .waves import route, show_waves

MARKS = {"create": ("+", "green"), "update": ("~", "yellow"), "delete": ("-", "red")}


def show_plan(plan: Plan, *, only: str | None = None, details: bool = False) -> None:
    """Print a plan.

    Args:
        only: name of the only node to print; None: all nodes.
        details: also print one line per changed key, and every node separately.
    """
    if plan.simulated:
        output.line(output.style("simulated hardware: this is the plan of a lab", "yellow"))
    _show_unknown(plan)
    for refusal in plan.refusals:
        output.line(output.style(f"cannot be applied: {refusal.node}: {refusal.message}", "red"))
        output.line(f"  hint: {refusal.hint}")
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
        signature = tuple((each.kind, stem(each), each.verb, each.risk, each.why, _keys(each)) for each in changes)
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
    found = [row_of(changes) for changes in rows]
    shown = found if details else list(merged(found))
    for row, (first, *others) in zip(shown, lines_of(shown), strict=True):
        mark, colour = MARKS[row.changes[0].verb.value]
        output.line(f"  {output.style(mark, colour)} {first}".rstrip())
        for text in others:
            output.line(f"    {text}")
        for text, style in detail_lines(row.changes[0]) if details else ():
            output.line(f"      {output.style(text, style) if style else text}")
