"""Prints summaries and differences of fabrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.fabric.summary import FindingRow, Summary


def show_summary(summary: Summary) -> None:
    """Print the tiers, one row for each leaf, and the findings."""
    speeds = ", ".join(f"{count} x {speed}" for speed, count in summary.links_by_speed.items())
    if summary.simulated:
        output.line(output.style("simulated fabric of a lab (ibsim)", "yellow"))
    output.line(
        f"{summary.leaf_switches} leaves, {summary.spine_switches} spines, {summary.adapters} adapters, "
        f"{summary.aggregation_nodes} SHARP aggregation nodes"
    )
    output.line(f"{summary.links} links: {speeds}")
    output.line(f"SHARP on {summary.switches - len(summary.without_sharp)} of {summary.switches} switches")
    if summary.switches > 1:
        highest = f"{summary.oversubscription:.2f}" if summary.oversubscription is not None else "a leaf has no uplinks"
        output.line(f"highest oversubscription of a leaf: {highest}")
    output.line()
    output.table(
        ("leaf", "rail", "adapters", "uplinks", "oversubscription"),
        (
            (
                each.name,
                each.rail or "-",
                str(each.adapters),
                str(each.uplinks),
                f"{each.oversubscription:.2f}" if each.oversubscription is not None else "no uplinks",
            )
            for each in summary.leaves
        ),
    )
    output.line()
    if summary.findings:
        output.table(("finding", "where"), ((each.kind, each.what) for each in summary.findings))
    else:
        output.line("no findings")


def show_difference(rows: Sequence[FindingRow], planned: int) -> None:
    """Print one row for each difference, or the number of links that agree."""
    if rows:
        output.table(("difference", "link"), ((each.kind, each.what) for each in rows))
        output.line()
    output.line(f"{planned} expected links, {len(rows)} differences")
