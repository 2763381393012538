"""Rails: in a rail-optimized fabric all hosts connect the same adapter index to the same leaf.

The rail of a leaf is the index that most of its adapters have. An adapter with another index is misplaced; two
misplaced adapters of one host on each other's leaf are a swapped pair. Source of the rule: docs.nvidia.com, ibdiagnet,
`--rail_validation` (each leaf connects one adapter index), read 2026-11-20.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .names import AdapterName, adapter_name
from .topology import Fabric


@dataclass(frozen=True, slots=True, order=True)
class Misplaced:
    """An adapter on the leaf of another rail.

    Args:
        leaf, leaf_port: where the adapter is connected.
        rail: index that the leaf has otherwise.
    """

    name: AdapterName
    leaf: str
    leaf_port: int
    rail: int


@dataclass(frozen=True, slots=True)
class Rails:
    """Result of the comparison.

    Args:
        by_leaf: rail by (leaf, scheme), for leaves with a majority.
        swapped: pairs of one host, in order of host and index.
        misplaced: the others.
        mixed: leaves without a majority, by name.
    """

    by_leaf: dict[tuple[str, str], int]
    swapped: tuple[tuple[Misplaced, Misplaced], ...]
    misplaced: tuple[Misplaced, ...]
    mixed: tuple[str, ...]

    @property
    def is_aligned(self) -> bool:
        """Whether every named adapter is on its rail."""
        return not (self.swapped or self.misplaced or self.mixed)


def rails_of(fabric: Fabric) -> Rails:
    """Return the rails of a fabric, and the adapters on other rails. Adapters without a name are ignored."""
    by_leaf: dict[tuple[str, str], int] = {}
    mixed: list[str] = []
    found: list[Misplaced] = []
    for leaf in fabric.leaves:
        ports = [
            (own.port, name)
            for own, other, _ in fabric.neighbours(leaf.guid)
            if (device := fabric.by_guid.get(other.guid)) is not None
            and not device.is_switch
            and (name := adapter_name(device.description)) is not None
        ]
        for scheme in sorted({name.scheme for _, name in ports}):
            members = [(port, name) for port, name in ports if name.scheme == scheme]
            (rail, count), *others = Counter(name.index for _, name in members).most_common(2)
            if others and count * 2 <= len(members):
                mixed.append(fabric.name(leaf.guid))
                continue
            by_leaf[leaf.guid, scheme] = rail
            found += [
                Misplaced(name, fabric.name(leaf.guid), port, rail) for port, name in members if name.index != rail
            ]
    pairs = _pairs(sorted(found))
    paired = {each for pair in pairs for each in pair}
    return Rails(by_leaf, pairs, tuple(each for each in sorted(found) if each not in paired), tuple(sorted(mixed)))


def _pairs(found: list[Misplaced]) -> tuple[tuple[Misplaced, Misplaced], ...]:
    return tuple(
        (one, other)
        for position, one in enumerate(found)
        for other in found[position + 1 :]
        if one.name.host == other.name.host
        and one.name.scheme == other.name.scheme
        and one.rail == other.name.index
        and other.rail == one.name.index
    )
