"""Faults of the simulated fabric: each changes the planned fabric, or ends a subnet manager.

A fault is a pure function of the fabric. ibsim starts again with the changed fabric, because it reads the topology, the
speeds and the node descriptions at its start only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from sovctl.support.errors import InputError

from .infiniband_fabric import MANAGERS, Cable, Topology

Change = Callable[[Topology], Topology]


@dataclass(frozen=True)
class FabricFault:
    """A fault.

    Args:
        shows: the visible effect.
        expects: verdicts of all checks `fabric.*` that do not pass.
    """

    name: str
    change: Change
    shows: str
    expects: Mapping[str, str]


def _swapped(*ends: tuple[str, int]) -> Change:
    def change(fabric: Topology) -> Topology:
        one, other = fabric.at(*ends)
        return fabric.with_cables((one, other), Cable(one.one, other.other), Cable(other.one, one.other))

    return change


def _cut(*ends: tuple[str, int]) -> Change:
    return lambda fabric: fabric.with_cables(fabric.at(*ends))


def _switched_off(switch: str) -> Change:
    return lambda fabric: fabric.with_cables(each for each in fabric.cables if switch in (each.one[0], each.other[0]))


def _slow(end: tuple[str, int], speed: str) -> Change:
    def change(fabric: Topology) -> Topology:
        found = fabric.at(end)
        return fabric.with_cables(found, *(replace(each, speed=speed) for each in found))

    return change


def _described(device: str, text: str) -> Change:
    return lambda fabric: replace(fabric, descriptions={**fabric.descriptions, device: text})


def _counted(end: tuple[str, int], name: str, value: int) -> Change:
    return lambda fabric: replace(fabric, counters=(*fabric.counters, (end, name, value)))


def _stopped(*managers: str) -> Change:
    return lambda fabric: replace(fabric, managers=tuple(each for each in fabric.managers if each not in managers))


FABRIC_FAULTS = (
    FabricFault(
        "fabric-cables-swapped", _swapped(("n1-mlx5_4", 1), ("n1-mlx5_5", 1)),
        "ibnetdiscover: mlx5_4 and mlx5_5 of n1 on each other's leaf",
        {"fabric.cabling-as-planned": "FAIL", "fabric.rails-not-swapped": "FAIL"},
    ),
    FabricFault(
        "fabric-uplink-cut", _cut(("leaf4", 34)), "ibnetdiscover: no link from leaf4 port 34 to spine1 port 11",
        {"fabric.no-missing-links": "FAIL"},
    ),
    FabricFault(
        "fabric-spine-off", _switched_off("spine2"), "ibnetdiscover: no spine2, and half the uplinks of each leaf",
        {"fabric.no-missing-links": "FAIL", "fabric.oversubscription": "FAIL"},
    ),
    FabricFault(
        "fabric-link-slow", _slow(("leaf3", 36), "4xEDR"), "iblinkinfo: 25.78125 Gbps from leaf3 port 36 to spine2",
        {"fabric.no-slow-links": "FAIL"},
    ),
    FabricFault(
        "fabric-link-downed", _counted(("leaf6", 33), "LinkDownedCounter", 3),
        "ibqueryerrors: LinkDownedCounter 3 on leaf6 port 33", {"fabric.errors-zero": "FAIL"},
    ),
    FabricFault(
        "fabric-symbol-errors", _counted(("leaf6", 2), "SymbolErrorCounter", 120),
        "ibqueryerrors: SymbolErrorCounter 120 on leaf6 port 2", {"fabric.errors-zero": "WARN"},
    ),
    FabricFault(
        "fabric-name-twice", _described("host-4-mlx5_2", "host-3-mlx5_2"),
        "ibnetdiscover: two adapters with the description host-3-mlx5_2",
        {"fabric.names-unique": "FAIL", "fabric.cabling-as-planned": "FAIL"},
    ),
    FabricFault(
        "fabric-name-unset", _described("host-4-mlx5_2", "MT4123 ConnectX6   Mellanox Technologies"),
        "ibnetdiscover: an adapter with the vendor's description",
        {"fabric.descriptions-set": "FAIL", "fabric.cabling-as-planned": "FAIL"},
    ),
    FabricFault(
        "fabric-sharp-absent", _cut(("leaf2", 41)), "ibnetdiscover: no aggregation node on leaf2",
        {"fabric.sharp-present": "FAIL"},
    ),
    FabricFault(
        "fabric-standby-absent", _stopped(MANAGERS[1]), "saquery SMIR: one subnet manager",
        {"fabric.subnet-manager-and-standby": "FAIL"},
    ),
    FabricFault(
        "fabric-managers-absent", _stopped(*MANAGERS), "sminfo: no answer",
        {"fabric.subnet-manager-and-standby": "UNKNOWN", "fabric.errors-zero": "UNKNOWN"},
    ),
)  # fmt: skip


def fabric_fault_named(name: str) -> FabricFault:
    """Return the fault of the fabric with a name.

    Raises:
        InputError: no fault of the fabric has this name.
    """
    for fault in FABRIC_FAULTS:
        if fault.name == name:
            return fault
    raise InputError(
        f"expected the name of a fault of the fabric, got {name!r}", where="FAULT", hint="sovctl lab fault --list"
    )


def with_faults(fabric: Topology, names: Iterable[str]) -> Topology:
    """Return the fabric with faults, in the order of the table; a fault of an absent cable changes nothing more."""
    wanted = set(names)
    for fault in FABRIC_FAULTS:
        if fault.name in wanted:
            fabric = fault.change(fabric)
    return fabric
