"""Heat map of a report: the state of each control on each node. Pure.

The rules of `controls.assessment` apply to the checks and targets of one node. Therefore a control is `fail` if and
only if one of its cells is `fail`, and all cells of a control with `pass` are `pass` or `n-a`. A check that was never
run has an unknown population, and counts as required on every node. Nodes with equal columns share one column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

_CELL_ORDER = ("fail", "error", "waived", "pass", "not-run", "n-a")
_MAX_NAMES = 3  # in the label of a column
_VERDICT_ORDER = ("FAIL", "UNKNOWN", "WARN", "PASS", "N/A")


@dataclass(frozen=True)
class Cell:
    """State of one control on the nodes of one column."""

    state: str
    evidence: int | None
    """Number of the record with the worst verdict; None without a record, or if the column has several nodes."""


@dataclass(frozen=True)
class Column:
    """Nodes with equal states for all controls."""

    label: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class MapRow:
    """The cells of one control, one for each column."""

    control: Mapping[str, Any]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class MapFamily:
    """Rows of one family."""

    name: str
    rows: tuple[MapRow, ...]
    """Controls with checks."""
    attested: tuple[Mapping[str, Any], ...]
    not_run: int
    """Number of controls without checks and without an attestation."""


@dataclass(frozen=True)
class HeatMap:
    """All columns and rows."""

    columns: tuple[Column, ...]
    families: tuple[MapFamily, ...]


@dataclass
class _OnNode:
    """The evidence of one check on one node."""

    items: list[Mapping[str, Any]] = field(default_factory=list)
    """Records that have not expired."""
    is_missing: bool = False
    """Whether a target of the node lacks such a record."""


def heat_map(
    controls: Sequence[Mapping[str, Any]],
    by_check: Mapping[str, Sequence[Mapping[str, Any]]],
    numbers: Mapping[str, int],
) -> HeatMap:
    """Return the heat map.

    Args:
        controls: of the report, in the order of the framework.
        by_check: evidence items of the report by check id, each with `stale` and `population`.
        numbers: number of a record by its SHA-256.
    """
    on_nodes = {check: _by_node(items) for check, items in by_check.items()}
    nodes = sorted({node for found in on_nodes.values() for node in found}, key=natural_order)
    mapped = [control for control in controls if control["mapping"]]
    decided = {c["id"]: [_decide(c, node, on_nodes) for node in nodes] for c in mapped}
    states = {node: tuple(decided[c["id"]][at][0] for c in mapped) for at, node in enumerate(nodes)}
    groups = _groups(nodes, states)
    place = {node: at for at, node in enumerate(nodes)}

    def cell(control_id: str, group: Sequence[str]) -> Cell:
        state, item = decided[control_id][place[group[0]]]
        return Cell(state, numbers[item["sha256"]] if item and len(group) == 1 else None)

    families = []
    for name, members in groupby(controls, key=lambda control: str(control["family"])):
        found = list(members)
        families.append(
            MapFamily(
                name,
                tuple(MapRow(c, tuple(cell(c["id"], group) for group in groups)) for c in found if c["mapping"]),
                tuple(c for c in found if c["state"] == "attested"),
                sum(c["state"] == "not-run" and not c["mapping"] for c in found),
            )
        )
    return HeatMap(tuple(Column(_label(group, place), tuple(group)) for group in groups), tuple(families))


def nodes_of(target: str) -> list[str]:
    """Return the nodes of a target: `n1` of `n1/chat`, both nodes of the pair `n1+n2`, `site` of `site`."""
    return target.partition("/")[0].split("+")


def natural_order(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """Return a sort key that orders numbers by value, and `site` last."""
    parts = re.findall(r"\d+|\D+", name)
    return name == "site", [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _by_node(items: Sequence[Mapping[str, Any]]) -> dict[str, _OnNode]:
    found: dict[str, _OnNode] = {}
    counted = set()
    for item in items:
        for node in nodes_of(item["record"]["target"]):
            on_node = found.setdefault(node, _OnNode())
            if not item["stale"]:
                counted.add(item["record"]["target"])
                on_node.items.append(item)
    population = {target for item in items for target in (*item["population"]["declared"], item["record"]["target"])}
    for target in population - counted:
        for node in nodes_of(target):
            found.setdefault(node, _OnNode()).is_missing = True
    return found


def _decide(
    control: Mapping[str, Any], node: str, on_nodes: Mapping[str, Mapping[str, _OnNode]]
) -> tuple[str, Mapping[str, Any] | None]:
    """Return the state of a control on a node, and the record with the worst verdict."""
    checks = control["mapping"]["checks"]
    never_run = any(check not in on_nodes for check in checks)
    found = [on_nodes[check][node] for check in checks if check in on_nodes and node in on_nodes[check]]
    items = [item for each in found for item in each.items]
    if not items:
        return ("not-run" if found or never_run else "n-a"), None
    worst = min(items, key=lambda item: _VERDICT_ORDER.index(item["record"]["verdict"]))
    waived = {(waiver["check"], target) for waiver in control["waivers"] for target in waiver["targets"]}
    failed = {(i["record"]["check_id"], i["record"]["target"]) for i in items if i["record"]["verdict"] == "FAIL"}
    verdicts = {item["record"]["verdict"] for item in items}
    if failed - waived:
        return "fail", worst
    if never_run or "UNKNOWN" in verdicts or any(each.is_missing for each in found):
        return "error", worst
    if failed:
        return "waived", worst
    return ("n-a" if verdicts == {"N/A"} else "pass"), worst


def _groups(nodes: Sequence[str], states: Mapping[str, tuple[str, ...]]) -> list[list[str]]:
    """Return nodes with equal states together, the worst first. `site` has a column of its own."""
    found: dict[tuple[object, ...], list[str]] = {}
    for node in nodes:
        found.setdefault((node == "site", states[node]), []).append(node)

    def badness(group: Sequence[str]) -> list[int]:
        return [-states[group[0]].count(state) for state in _CELL_ORDER[:3]]

    return sorted(found.values(), key=lambda group: (group == ["site"], badness(group), natural_order(group[0])))


def _label(group: Sequence[str], place: Mapping[str, int]) -> str:
    if len(group) <= _MAX_NAMES:
        return ", ".join(group)
    is_range = place[group[-1]] - place[group[0]] == len(group) - 1
    return f"{group[0]} to {group[-1]}" if is_range else f"{group[0]} and {len(group) - 1} more"
