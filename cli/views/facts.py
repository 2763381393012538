"""Prints the facts of nodes: a table for a person, or all values as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sovctl.engine.facts.node import NodeFacts

from .. import output

_OMITTED = ("answers", "texts")
"""Raw outputs and contents of files, which captures contain."""


def as_document(facts: Mapping[str, NodeFacts]) -> dict[str, Any]:
    """Return the facts as plain values, by node."""
    return {
        name: {key: value for key, value in asdict(each).items() if key not in _OMITTED} for name, each in facts.items()
    }


def show_facts(facts: Mapping[str, NodeFacts], unknown: Mapping[str, str]) -> None:
    """Print one row per node, nodes without an observation first."""
    rows = [[name, "UNKNOWN", reason, "", ""] for name, reason in unknown.items()]
    for name, each in facts.items():
        active = sum(unit.active == "active" for unit in each.units.values())
        kind = "container" if each.is_container else "machine"
        rows.append(
            [
                name,
                f"{kind}, simulated hardware" if each.simulated else kind,
                each.captured,
                str(len(each.packages)),
                f"{active} of {len(each.units)}",
            ]
        )
    output.table(["node", "kind", "observed", "packages", "active units"], rows)
