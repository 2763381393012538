"""Summary of a fabric for people and programs: its tiers, its leaves, and its findings in the order of their weight.

summary = summarize(fabric)
summary.leaves, summary.findings
document(summary)                           # plain values for JSON
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from .cabling import CablingDifference
from .findings import (
    common_rate,
    default_hosts,
    duplicate_identities,
    duplicate_names,
    leaf_loads,
    missing_uplinks,
    slow_links,
    unset_names,
    without_aggregation_node,
)
from .rails import rails_of
from .topology import Fabric


@dataclass(frozen=True, slots=True)
class LeafRow:
    """One leaf.

    Args:
        rail: such as `HCA-5`; `mixed` without a majority, empty without named adapters.
    """

    name: str
    rail: str
    adapters: int
    uplinks: int
    oversubscription: float | None


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One finding; `what` names both ends of a link."""

    kind: str
    what: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A fabric in numbers, its leaves by name, and its findings.

    Args:
        simulated: whether it is a fabric of a lab.
        aggregation_nodes: of SHARP.
        without_sharp: names of switches without an aggregation node.
        oversubscription: the highest of all leaves; None without uplinks.
    """

    simulated: bool
    switches: int
    leaf_switches: int
    spine_switches: int
    adapters: int
    aggregation_nodes: int
    without_sharp: tuple[str, ...]
    oversubscription: float | None
    links: int
    links_by_speed: dict[str, int]
    leaves: tuple[LeafRow, ...]
    findings: tuple[FindingRow, ...]


def summarize(fabric: Fabric, *, is_simulated: bool = False) -> Summary:
    """Return the summary of a fabric."""
    rails = rails_of(fabric)
    by_leaf: dict[str, list[str]] = {}
    for (guid, scheme), index in rails.by_leaf.items():
        by_leaf.setdefault(guid, []).append(f"{scheme}{index}")
    loads = {each.leaf: each.oversubscription for each in leaf_loads(fabric)}
    highest = max(loads.values(), default=float("inf")) if len(fabric.switches) > 1 else float("inf")
    leaves = (
        LeafRow(
            name=(name := fabric.name(leaf.guid)),
            rail="mixed" if name in rails.mixed else ", ".join(by_leaf.get(leaf.guid, [])),
            adapters=sum(1 for _ in fabric.adapter_links(leaf.guid)),
            uplinks=sum(1 for _ in fabric.uplinks(leaf.guid)),
            oversubscription=round(loads[name], 3) if loads[name] != float("inf") else None,
        )
        for leaf in fabric.leaves
    )
    return Summary(
        simulated=is_simulated,
        switches=len(fabric.switches),
        leaf_switches=len(fabric.leaves),
        spine_switches=len(fabric.spines),
        adapters=len(fabric.adapters),
        aggregation_nodes=sum(1 for each in fabric.discovery.devices if not each.is_switch) - len(fabric.adapters),
        without_sharp=tuple(fabric.name(each.guid) for each in without_aggregation_node(fabric)),
        oversubscription=round(highest, 3) if highest != float("inf") else None,
        links=len(fabric.links),
        links_by_speed=dict(sorted(Counter(str(link.speed) for link in fabric.links).items())),
        leaves=tuple(sorted(leaves, key=lambda each: each.name)),
        findings=tuple(_findings(fabric)),
    )


def document(summary: Summary) -> dict[str, Any]:
    """Return the summary as plain values."""
    return asdict(summary)


def difference_rows(difference: CablingDifference) -> list[FindingRow]:
    """Return one row for each missing, wrong and unplanned link."""
    return [
        *(FindingRow("missing", f"{each.one} - {each.other}") for each in difference.missing),
        *(
            FindingRow("wrong", f"{link.one} - {link.other}: {end} is connected to {actual}")
            for link, end, actual in difference.wrong
        ),
        *(FindingRow("unplanned", each) for each in difference.unplanned),
    ]


def _findings(fabric: Fabric) -> list[FindingRow]:
    rails, rate = rails_of(fabric), common_rate(fabric)
    rows = [FindingRow("duplicate", f"{key}: {', '.join(names)}") for key, names in duplicate_identities(fabric)]
    rows += [
        FindingRow(
            "swapped rails",
            f"{one.name.host}: {one.name.scheme}{one.name.index} on {one.leaf} port {one.leaf_port}, "
            f"{other.name.scheme}{other.name.index} on {other.leaf} port {other.leaf_port}",
        )
        for one, other in rails.swapped
    ]
    rows += [
        FindingRow(
            "misplaced adapter",
            f"{each.name.host} {each.name.scheme}{each.name.index} on {each.leaf} port {each.leaf_port}, "
            f"rail {each.name.scheme}{each.rail}",
        )
        for each in rails.misplaced
    ]
    rows += [FindingRow("mixed rails", leaf) for leaf in rails.mixed]
    rows += [
        FindingRow("slow link", f"{fabric.label_link(link)}: {link.speed}, most links have {rate:g} Gbit/s")
        for link in slow_links(fabric, at_least_gbit_s=rate)
    ]
    rows += [
        FindingRow(
            "few uplinks", f"{each.leaf}: {each.found}, most leaves have {each.usual}; few to {', '.join(each.lacks)}"
        )
        for each in missing_uplinks(fabric)
    ]
    rows += [FindingRow("duplicate name", f"{name}: {', '.join(guids)}") for name, guids in duplicate_names(fabric)]
    rows += [FindingRow("default host name", each.description) for each in default_hosts(fabric)]
    if unset := unset_names(fabric):
        rows.append(FindingRow("unset names", f"{len(unset)} devices without a node description"))
    lacking = without_aggregation_node(fabric)
    if 0 < len(lacking) < len(fabric.switches):
        names = ", ".join(fabric.name(each.guid) for each in lacking)
        rows.append(FindingRow("SHARP", f"no aggregation node on {names}"))
    return rows
