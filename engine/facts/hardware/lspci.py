"""Parser of `lspci -vvv`: devices, bridges, links and access control (ACS), and the bridges above a device.

    tree = parse_lspci(text)
    tree.path("1a:00.0")                       # bridges above the device, the nearest first

ACS matters only for bridges above GPUs and network adapters; a healthy server has ACS on other bridges. Source:
capture of a Dell XE9680 with 8 x H100 (leptonai/gpud, read 2026-11-20).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ..numbers import integer
from ..unreadable import Unreadable

_HEAD = re.compile(r"^(?P<address>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7]) (?P<kind>[^:]+): (?P<name>.+)$")
_BUS = re.compile(r"^\s+Bus: primary=[0-9a-f]{2}, secondary=(?P<first>[0-9a-f]{2}), subordinate=(?P<last>[0-9a-f]{2})")
_NUMA = re.compile(r"^\s+NUMA node: (?P<node>-?\d+)$")
_SLOW = r" \(downgraded\)"
_LINK = re.compile(
    rf"^\s+LnkSta:\s+Speed [\d.]+GT/s(?P<slow>{_SLOW})?(?: \(\w+\))?, Width x\d+(?P<narrow>{_SLOW})?(?: \(\w+\))?"
)
_ACS = re.compile(r"^\s+ACSCtl:\s+(?P<flags>(?:\w+[+-]\s*)+)$")
REDIRECTING = ("SrcValid", "ReqRedir", "CmpltRedir")
"""Flags that are off between a GPU and its adapter, so that peer traffic does not pass the root."""


@dataclass(frozen=True, slots=True)
class PciDevice:
    """One device.

    Args:
        buses: first and last bus number below a bridge; None for another device.
        is_downgraded: whether speed or width of the link is below the device's own; None without a link.
        acs: state of the ACS flags by name; None without ACS.
    """

    address: str
    kind: str
    name: str
    numa_node: int | None
    buses: tuple[int, int] | None
    is_downgraded: bool | None
    acs: Mapping[str, bool] | None

    @property
    def bus(self) -> int:
        """Bus number."""
        return int(self.address.split(":")[-2], 16)


@dataclass(frozen=True)
class PciTree:
    """All devices by address."""

    devices: Mapping[str, PciDevice]

    def path(self, address: str) -> tuple[PciDevice, ...]:
        """Return the bridges above a device, the nearest first.

        Raises:
            KeyError: the address is unknown.
        """
        return tuple(self._above(self.devices[address]))

    def redirecting(self, address: str) -> tuple[PciDevice, ...]:
        """Return the bridges above a device whose ACS redirects peer traffic."""
        return tuple(
            each for each in self.path(address) if each.acs and any(each.acs.get(name) for name in REDIRECTING)
        )

    def _above(self, device: PciDevice) -> Iterator[PciDevice]:
        domain = device.address.rpartition(":")[0].rpartition(":")[0]
        bridges = [
            each
            for each in self.devices.values()
            if each.buses is not None
            and each.buses[0] <= device.bus <= each.buses[1]
            and each.address.rpartition(":")[0].rpartition(":")[0] == domain
        ]
        yield from sorted(bridges, key=lambda each: each.buses[1] - each.buses[0] if each.buses else 0)


@lru_cache(maxsize=4)
def parse_lspci(text: str) -> PciTree:
    """Return the tree.

    Raises:
        Unreadable: the text is empty, or has no PCIe link, as without root.
    """
    devices: dict[str, PciDevice] = {}
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip("\n").splitlines()
        match = _HEAD.match(lines[0]) if lines else None
        if match is None:
            if lines:
                raise Unreadable("a PCI device", lines[0], where="lspci")
            continue
        if match["address"] in devices:
            raise Unreadable("each PCI device once", match["address"], where="lspci")
        devices[match["address"]] = _device(match, lines[1:])
    if not any(each.is_downgraded is not None for each in devices.values()):
        raise Unreadable("PCIe links; lspci must run as root", text, where="lspci")
    return PciTree(devices)


def _device(head: re.Match[str], lines: list[str]) -> PciDevice:
    found: dict[re.Pattern[str], re.Match[str]] = {}
    for line in lines:
        for pattern in (_BUS, _NUMA, _LINK, _ACS):
            if match := pattern.match(line):
                found.setdefault(pattern, match)
    bus, numa, link, acs = (found.get(pattern) for pattern in (_BUS, _NUMA, _LINK, _ACS))
    if bus is None and head["kind"] == "PCI bridge":
        raise Unreadable(f"the buses below {head['address']}", head["name"], where="lspci")
    return PciDevice(
        address=head["address"],
        kind=head["kind"],
        name=head["name"],
        numa_node=integer(numa["node"]) if numa else None,
        buses=(integer(bus["first"], 16), integer(bus["last"], 16)) if bus else None,
        is_downgraded=bool(link["slow"] or link["narrow"]) if link else None,
        acs={flag[:-1]: flag.endswith("+") for flag in acs["flags"].split()} if acs else None,
    )
