"""Findings about one fabric without a plan: slow and missing links, duplicates, unset names, SHARP, oversubscription.

Each function returns texts that name both ends of a link, or both devices. Order: as in the capture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..facts.fabric.links import Device, Link
from .names import has_default_host, is_aggregation_node, is_unset
from .topology import Fabric


def slow_links(fabric: Fabric, *, at_least_gbit_s: float) -> tuple[Link, ...]:
    """Return the links below a nominal rate."""
    return tuple(link for link in fabric.links if link.speed.gbit_s < at_least_gbit_s)


def common_rate(fabric: Fabric) -> float:
    """Return the most frequent nominal rate; the higher one of two that are equally frequent."""
    counts = Counter(link.speed.gbit_s for link in fabric.links)
    return max(counts, key=lambda rate: (counts[rate], rate))


@dataclass(frozen=True, slots=True)
class MissingUplinks:
    """A leaf with fewer links to other switches than most leaves have."""

    leaf: str
    found: int
    usual: int
    lacks: tuple[str, ...]
    """Spines to which the leaf has fewer links than the usual number for one spine."""


def missing_uplinks(fabric: Fabric) -> tuple[MissingUplinks, ...]:
    """Return the leaves with fewer uplinks than most leaves. Without a plan, this is the only sign of a cut uplink."""
    by_leaf = {leaf.guid: Counter(other.guid for _, other, _ in fabric.uplinks(leaf.guid)) for leaf in fabric.leaves}
    totals = Counter(sum(each.values()) for each in by_leaf.values())
    if not totals:
        return ()
    usual = max(totals, key=lambda total: (totals[total], total))
    per_spine = Counter(count for each in by_leaf.values() for count in each.values())
    usual_of_spine = max(per_spine, key=lambda count: (per_spine[count], count)) if per_spine else 0
    used = sorted({guid for each in by_leaf.values() for guid in each}, key=fabric.name)
    return tuple(
        MissingUplinks(
            fabric.name(guid),
            sum(counts.values()),
            usual,
            tuple(fabric.name(spine) for spine in used if counts[spine] < usual_of_spine),
        )
        for guid, counts in by_leaf.items()
        if sum(counts.values()) < usual
    )


def unset_names(fabric: Fabric) -> tuple[Device, ...]:
    """Return the devices without a name."""
    return tuple(each for each in fabric.discovery.devices if is_unset(each.description))


def default_hosts(fabric: Fabric) -> tuple[Device, ...]:
    """Return the adapters of hosts with the name of a fresh installation."""
    return tuple(each for each in fabric.adapters if has_default_host(each.description))


def duplicate_names(fabric: Fabric) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each name that several devices have, with their GUIDs. Defaults and aggregation nodes do not count."""
    named = [
        each
        for each in fabric.discovery.devices
        if not is_unset(each.description) and not is_aggregation_node(each.description)
    ]
    return _duplicates([(each.description, f"0x{each.guid}") for each in named])


def duplicate_identities(fabric: Fabric) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each GUID or LID that several devices have, with their names."""
    devices = fabric.discovery.devices
    guids = [(f"GUID 0x{each.guid}", each.description) for each in devices]
    lids = [(f"LID {each.lid}", f"0x{each.guid}") for each in devices if each.lid]
    return _duplicates(guids, may_equal=True) + _duplicates(lids)


def without_aggregation_node(fabric: Fabric) -> tuple[Device, ...]:
    """Return the switches without a SHARP aggregation node."""
    return tuple(
        switch
        for switch in fabric.switches
        if not any(
            is_aggregation_node(fabric.by_guid[other.guid].description)
            for _, other, _ in fabric.neighbours(switch.guid)
        )
    )


@dataclass(frozen=True, slots=True)
class LeafLoad:
    """Bandwidth of one leaf, nominal."""

    leaf: str
    down_gbit_s: float
    up_gbit_s: float

    @property
    def oversubscription(self) -> float:
        """Bandwidth of the hosts divided by that of the uplinks; infinite without uplinks."""
        return self.down_gbit_s / self.up_gbit_s if self.up_gbit_s else float("inf")


def leaf_loads(fabric: Fabric) -> tuple[LeafLoad, ...]:
    """Return the bandwidth of each leaf."""
    return tuple(
        LeafLoad(
            fabric.name(leaf.guid),
            sum(link.speed.gbit_s for _, _, link in fabric.adapter_links(leaf.guid)),
            sum(link.speed.gbit_s for _, _, link in fabric.uplinks(leaf.guid)),
        )
        for leaf in fabric.leaves
    )


def _duplicates(
    pairs: Sequence[tuple[str, str]], *, may_equal: bool = False
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the keys with several values.

    Args:
        may_equal: whether equal values count, as two devices with one GUID and one name do.
    """
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return tuple((key, tuple(values)) for key, values in found.items() if len(values if may_equal else set(values)) > 1)
