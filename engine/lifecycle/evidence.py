"""Verdicts of nodes in evidence: the reasons of sick nodes, and the condition of a certification. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from sovctl.compliance.evidence.record import Evidence
from sovctl.compliance.verdict import Verdict

HARDWARE = ("gpu.", "nvlink.", "ib.")
"""Prefixes of checks whose failure makes a node sick. Failed checks of settings are repaired by plan and apply."""


def sick_nodes(records: Iterable[Evidence]) -> dict[str, str]:
    """Return the failed hardware checks by node. UNKNOWN prevents a certification, and does not make a node sick."""
    failed: dict[str, list[str]] = defaultdict(list)
    for each in records:
        if each.verdict is Verdict.FAIL and each.check_id.startswith(HARDWARE):
            failed[_node(each)].append(each.check_id)
    return {node: "failed: " + ", ".join(sorted(set(checks))) for node, checks in failed.items()}


def obstacles(node: str, records: Collection[Evidence], *, since: str) -> list[str]:
    """Return the reasons against a certification of a node by one run; empty if it passes.

    Args:
        since: time of the node's last event; older evidence does not count.
    """
    own = [each for each in records if _node(each) == node]
    if not own:
        return ["no evidence of this node"]
    found = [f"{each.check_id}: {each.verdict.value}" for each in own if each.verdict.blocks]
    # Times of evidence can have fractions of a second. Equal seconds count as older.
    if min(each.started for each in own) <= since:
        found.append(f"the evidence is older than the last event of {since}")
    ran = {each.check_id for each in own}
    missing = sorted({each.check_id for each in records if node in each.population} - ran)
    found += [f"{check}: no result" for check in missing]
    if not any(each.check_id.startswith(HARDWARE) for each in own):
        found.append("no hardware check ran")
    return found


def _node(evidence: Evidence) -> str:
    return evidence.target.partition("/")[0]
