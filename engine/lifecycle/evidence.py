"""Verdicts of nodes in evidence: the reasons of sick nodes. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from sovctl.compliance.evidence.record import Evidence
from sovctl.compliance.verdict import Verdict

HARDWARE = ("gpu.", "nvlink.", "ib.", "pcie.", "xid.", "memory.no-", "disk.smart-")
"""Prefixes of checks whose failure makes a node sick. Failed checks of settings are repaired by plan and apply."""


def sick_nodes(records: Iterable[Evidence]) -> dict[str, str]:
    """Return the failed hardware checks by node. UNKNOWN prevents a certification, and does not make a node sick."""
    failed: dict[str, list[str]] = defaultdict(list)
    for each in records:
        if each.verdict is Verdict.FAIL and each.check_id.startswith(HARDWARE):
            failed[node_of(each)].append(each.check_id)
    return {node: "failed: " + ", ".join(sorted(set(checks))) for node, checks in failed.items()}


def node_of(evidence: Evidence) -> str:
    """Return the name of the node of a record."""
    return evidence.target.partition("/")[0]
