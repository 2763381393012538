"""Devices, ports and links of an InfiniBand fabric, as the discovery tools print them. Plain values.

A link has two ends of equal rank. Rates are nominal data rates: the tools print the signalling rate
(`4X 106.25 Gbps` for NDR), and sysfs the nominal one (`400 Gb/sec (4X NDR)`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ..numbers import integer
from ..unreadable import Unreadable

LANE_GBIT_S = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.0,
    "FDR": 14.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
"""Nominal rate of one lane by name of the speed (IBTA, roadmap of InfiniBand speeds; sysfs prints 400 for 4X NDR)."""
WIDTHS = (1, 2, 4, 8, 12)


class DeviceKind(StrEnum):
    """Kind of a device; the value is the word of ibnetdiscover(8)."""

    SWITCH = "Switch"
    ADAPTER = "Ca"
    ROUTER = "Rt"


class End(NamedTuple):
    """One end of a link. A tuple, because a fabric of 10,000 ports compares and hashes many of them.

    Args:
        guid: of the device, 16 lower-case hex digits.
        port: number, from 1.
    """

    guid: str
    port: int


@dataclass(frozen=True, slots=True)
class Speed:
    """Width and speed of a link.

    Args:
        lanes: 1, 2, 4, 8 or 12.
        name: a key of `LANE_GBIT_S`.
    """

    lanes: int
    name: str

    @property
    def gbit_s(self) -> float:
        """Nominal data rate."""
        return self.lanes * LANE_GBIT_S[self.name]

    def __str__(self) -> str:
        return f"{self.lanes}x{self.name}"


@dataclass(frozen=True, slots=True)
class Link:
    """A link; `one` sorts before `other`."""

    one: End
    other: End
    speed: Speed


@dataclass(frozen=True, slots=True)
class Device:
    """A switch, adapter or router.

    Args:
        port_count: ports that the device has, connected or not.
        description: of the node, as the subnet manager reads it; may be empty or the default of the vendor.
        device_id: PCI device id without 0x, such as `d2f2`; None if the tool does not print it.
        lid: of port 0 of a switch, of the first port otherwise; None if the tool does not print it.
    """

    guid: str
    kind: DeviceKind
    port_count: int
    description: str
    device_id: str | None
    lid: int | None

    @property
    def is_switch(self) -> bool:
        """Whether the device is a switch."""
        return self.kind is DeviceKind.SWITCH


def speed_of(text: str, *, where: str) -> Speed:
    """Return the speed of `4xNDR` or `4x NDR`.

    Raises:
        Unreadable: the width or the speed is unknown.
    """
    lanes, separator, name = text.lower().replace(" ", "").partition("x")
    name = name.upper()
    if not separator or not lanes.isdecimal() or integer(lanes) not in WIDTHS or name not in LANE_GBIT_S:
        raise Unreadable("width and speed such as 4xNDR", text, where=where)
    return Speed(integer(lanes), name)
