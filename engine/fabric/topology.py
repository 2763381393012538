"""Topology of a fabric: leaves, spines and adapters, from one sweep of ibnetdiscover.

    fabric = Fabric.of(parse_ibnetdiscover(text))
    fabric.leaves, fabric.spines, fabric.neighbours(leaf.guid)

A leaf is a switch with an adapter other than a SHARP aggregation node. All other switches are spines; a fabric of three
tiers has spines that are connected only to spines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..facts.fabric.ibnetdiscover import Discovery
from ..facts.fabric.links import Device, End, Link
from .names import is_aggregation_node, is_unset, short_name


@dataclass(frozen=True)
class Fabric:
    """A discovered fabric. Lists keep the order of the capture.

    Args:
        by_guid: the first device with each GUID.
    """

    discovery: Discovery
    by_guid: dict[str, Device]

    @classmethod
    def of(cls, discovery: Discovery) -> Fabric:
        """Return the topology of a sweep."""
        return cls(discovery, {each.guid: each for each in reversed(discovery.devices)})

    @property
    def links(self) -> tuple[Link, ...]:
        """All links, each once."""
        return self.discovery.links

    @cached_property
    def switches(self) -> tuple[Device, ...]:
        """All switches."""
        return tuple(each for each in self.discovery.devices if each.is_switch)

    @cached_property
    def adapters(self) -> tuple[Device, ...]:
        """Adapters of hosts, without SHARP aggregation nodes."""
        return tuple(
            each for each in self.discovery.devices if not each.is_switch and not is_aggregation_node(each.description)
        )

    @cached_property
    def _adapter_guids(self) -> frozenset[str]:
        return frozenset(each.guid for each in self.adapters)

    @cached_property
    def _neighbours(self) -> dict[str, list[tuple[End, End, Link]]]:
        found: dict[str, list[tuple[End, End, Link]]] = {}
        for link in self.links:
            found.setdefault(link.one.guid, []).append((link.one, link.other, link))
            found.setdefault(link.other.guid, []).append((link.other, link.one, link))
        return found

    @cached_property
    def links_by_end(self) -> dict[End, Link]:
        """The link of each connected port."""
        return {end: link for link in self.links for end in (link.one, link.other)}

    def neighbours(self, guid: str) -> list[tuple[End, End, Link]]:
        """Return own end, other end and link of every connected port of a device, by port."""
        return sorted(self._neighbours.get(guid, []), key=lambda each: each[0])

    @cached_property
    def leaves(self) -> tuple[Device, ...]:
        """Switches with an adapter of a host."""
        return tuple(each for each in self.switches if any(True for _ in self.adapter_links(each.guid)))

    @cached_property
    def spines(self) -> tuple[Device, ...]:
        """Switches without an adapter of a host."""
        leaves = {each.guid for each in self.leaves}
        return tuple(each for each in self.switches if each.guid not in leaves)

    def adapter_links(self, switch: str) -> Iterator[tuple[End, End, Link]]:
        """Yield the links from a switch to adapters of hosts."""
        return (each for each in self._neighbours.get(switch, []) if each[1].guid in self._adapter_guids)

    def uplinks(self, switch: str) -> Iterator[tuple[End, End, Link]]:
        """Yield the links from a switch to other switches."""
        return (
            each
            for each in self._neighbours.get(switch, [])
            if each[1].guid in self.by_guid and self.by_guid[each[1].guid].is_switch
        )

    def name(self, guid: str) -> str:
        """Return the name of a device; `0xGUID` if it is unset or unknown."""
        device = self.by_guid.get(guid)
        if device is None or is_unset(device.description):
            return f"0x{guid}"
        return short_name(device.description)

    def label(self, end: End) -> str:
        """Return `LEAF-01 port 3`."""
        return f"{self.name(end.guid)} port {end.port}"

    def label_link(self, link: Link) -> str:
        """Return both ends of a link."""
        return f"{self.label(link.one)} - {self.label(link.other)}"
