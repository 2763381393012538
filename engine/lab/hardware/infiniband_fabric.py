"""InfiniBand fabric of a lab as a value: devices, cables, and their texts for ibsim and for site.yaml.

The topology is that of a small DGX SuperPOD. Each adapter of a host is connected to the leaf switch of its rail, each
leaf to each spine by several cables, and each switch to a SHARP aggregation node. Two hosts exist only in the fabric,
so that a leaf has a majority of adapters of its rail. The subnet managers have adapters of their own.

ibsim of Debian 12 simulates link speeds up to HDR. The tools print 4X HDR (53.125 Gbps a lane) for all links, and sysfs
of the nodes has 4X NDR: site.yaml of the lab requires 200 Gbit/s in `fabric.link_gbit_s`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..layout import LabNode
from .inventory import Facts

MANAGERS = ("manager-1", "manager-2")
"""Adapters of the subnet managers: the master, then the standby."""
OTHER_HOSTS = ("host-3", "host-4")
SPINES = 2
CABLES_PER_SPINE = 3
"""Six uplinks of a leaf, for at most five adapters: non-blocking."""
SPEED = "4xHDR"
AGGREGATION_NODE = "Mellanox Technologies Aggregation Node"
"""Description of a real one (capture of NVIDIA/topograph, read 2026-11-20)."""
_RAILS = 8
_SWITCH_PORTS = 41  # of a Quantum QM8700: 40 ports, and one to its aggregation node
_FIRST_UPLINK = 33
_PLAN_HEADER = "device,port,peer,peer_port"

End = tuple[str, int]
"""A port: device and number."""


@dataclass(frozen=True)
class Cable:
    """A cable; the end at the leaf comes first."""

    one: End
    other: End
    speed: str = SPEED


@dataclass(frozen=True)
class Topology:
    """The fabric.

    Args:
        guids: of adapters by device. A port has the next number, so that they are at least 2 apart.
        descriptions: by device, if it is not the device's name.
        counters: (end, name of ibsim, value) of error counters.
        managers: devices with a running subnet manager.
    """

    cables: tuple[Cable, ...]
    guids: Mapping[str, str]
    descriptions: Mapping[str, str] = field(default_factory=dict)
    counters: tuple[tuple[End, str, int], ...] = ()
    managers: tuple[str, ...] = MANAGERS

    def at(self, *ends: End) -> tuple[Cable, ...]:
        """Return the cables of these ports; none for a free port."""
        return tuple(each for each in self.cables if each.one in ends or each.other in ends)

    def with_cables(self, removed: Iterable[Cable], *added: Cable) -> Topology:
        """Return the fabric with other cables."""
        gone = set(removed)
        return replace(self, cables=(*(each for each in self.cables if each not in gone), *added))

    def description(self, device: str) -> str:
        """Return the node description of a device."""
        return self.descriptions.get(device, device)


def adapter(node: LabNode, nic: Facts) -> str:
    """Return the name of a node's adapter in the fabric."""
    return f"{node.name}-{nic['name']}"


def is_switch(device: str) -> bool:
    """Return whether a device is a switch."""
    return device.startswith(("leaf", "spine"))


def healthy(nodes: Mapping[LabNode, list[Facts]]) -> Topology:
    """Return the planned fabric.

    Args:
        nodes: adapters by node.
    """
    guids = {adapter(node, nic): nic["guid"] for node, nics in nodes.items() for nic in nics}
    by_rail: dict[int, list[str]] = {rail: [] for rail in range(_RAILS)}
    for node, nics in nodes.items():
        for nic in nics:
            by_rail[nic["rail"]].append(adapter(node, nic))
    for rail, members in by_rail.items():
        members += [f"{host}-mlx5_{rail}" for host in OTHER_HOSTS]
    for rail, manager in enumerate(MANAGERS):
        by_rail[rail].append(manager)
    cables = tuple(_cables(by_rail))
    switches = sorted({end[0] for each in cables for end in (each.one, each.other) if is_switch(end[0])})
    cables += tuple(Cable((name, _SWITCH_PORTS), (_aggregation_node(name), 1)) for name in switches)
    others = {device for each in cables for device, _ in (each.one, each.other)} - guids.keys()
    return Topology(
        cables,
        guids | {device: _guid(device) for device in sorted(others)},
        {_aggregation_node(name): AGGREGATION_NODE for name in switches},
    )


def network_text(topology: Topology) -> str:
    """Return the fabric in the format of ibnetdiscover(8), for ibsim."""
    ports: dict[str, list[tuple[int, End, str]]] = {}
    for each in topology.cables:
        ports.setdefault(each.one[0], []).append((each.one[1], each.other, each.speed))
        ports.setdefault(each.other[0], []).append((each.other[1], each.one, each.speed))
    lines = ["# written by sovctl lab: a simulated fabric"]
    for device, connected in ports.items():
        kind, key, count = ("Switch", "switchguid", _SWITCH_PORTS) if is_switch(device) else ("Hca", "caguid", 1)
        lines += ["", f"{key}=0x{topology.guids[device]}"]
        lines.append(f'{kind}\t{count} "{device}"\t# "{topology.description(device)}"')
        lines += (
            f'[{port}]\t"{end[0]}"[{end[1]}]\t# "{end[0]}" lid 0 {speed}' for port, end, speed in sorted(connected)
        )
    return "\n".join(lines) + "\n"


def plan_text(topology: Topology) -> str:
    """Return the cabling file of site.yaml, without SHARP aggregation nodes."""
    rows = [
        f"{each.one[0]},{each.one[1]},{each.other[0]},{each.other[1]}"
        for each in topology.cables
        if topology.description(each.other[0]) != AGGREGATION_NODE
    ]
    return "\n".join(["# written by sovctl lab: the planned cabling of the simulated fabric", _PLAN_HEADER, *rows, ""])


def node_commands(node: LabNode, nics: list[Facts]) -> Iterator[str]:
    """Yield the commands of ibsim that make the fabric match a node's facts."""
    for nic in nics:
        name = adapter(node, nic)
        yield f'{"Unlink" if nic["state"].startswith("1:") else "ReLink"} "{name}"'
        yield f'PerformanceSet "{name}"[1] PortCounters.SymbolErrorCounter={nic["symbol_errors"]}'


def counter_commands(topology: Topology) -> Iterator[str]:
    """Yield the commands of ibsim that set the error counters."""
    for (device, port), name, value in topology.counters:
        yield f'PerformanceSet "{device}"[{port}] PortCounters.{name}={value}'


def _cables(by_rail: Mapping[int, list[str]]) -> Iterator[Cable]:
    for rail, members in by_rail.items():
        leaf = f"leaf{rail + 1}"
        yield from (Cable((leaf, port), (member, 1)) for port, member in enumerate(members, start=1))
        for number in range(SPINES * CABLES_PER_SPINE):
            spine, copy = divmod(number, CABLES_PER_SPINE)
            yield Cable((leaf, _FIRST_UPLINK + number), (f"spine{spine + 1}", rail * CABLES_PER_SPINE + copy + 1))


def _aggregation_node(switch: str) -> str:
    return f"sharp-{switch}"


def _guid(device: str) -> str:
    """Return an invented GUID: locally administered, so not of a vendor, and even."""
    return f"02{hashlib.sha256(f'sovctl-lab/{device}'.encode()).hexdigest()[:13]}0"
