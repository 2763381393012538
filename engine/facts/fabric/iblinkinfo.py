"""Parser of `iblinkinfo`: state, speed and partner of every port.

The tool prints the signalling rate of one lane (`106.25 Gbps` for NDR), and `Could be ...` if both ends support more.
ibsim prints `Could be 12X` for every link, so a hint is a fact and not a verdict.

Source: infiniband-diags 44, iblinkinfo(8); its output on ibsim 0.10 (2026-11-28).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..numbers import integer
from ..unreadable import Unreadable
from .links import WIDTHS, DeviceKind, Speed

_TOOL = "iblinkinfo"
SPEED_OF_GBPS = {
    "2.5": "SDR",
    "5.0": "DDR",
    "10.0": "QDR",
    "10.3125": "FDR10",
    "14.0625": "FDR",
    "25.78125": "EDR",
    "53.125": "HDR",
    "106.25": "NDR",
    "212.5": "XDR",
}
"""Name of the speed by signalling rate of a lane, in the spelling of the tool (libibmad, dump.c)."""
_DEVICE = re.compile(r"^(?P<kind>CA|RT): (?P<name>.*):$|^Switch: 0x(?P<guid>[0-9a-f]{16}) (?P<switch>.*):$")
_PORT = re.compile(
    r"^ +(?:0x(?P<guid>[0-9a-f]{16}) +)?(?P<lid>\d+) +(?P<port>\d+)\[ *(?:\d+)? *\] =="
    r"\( *(?:(?P<lanes>\d+)X +(?P<gbps>[\d.]+) Gbps +)?(?P<state>\w+) */ *(?P<physical>\w+)\)==> +"
    r"(?:(?P<other_lid>\d+) +(?P<other_port>\d+))?\[ *(?:\d+)? *\] \"(?P<other>.*)\" \((?P<hint>[^()]*)\)$"
)
_KINDS = {"CA": DeviceKind.ADAPTER, "RT": DeviceKind.ROUTER}


@dataclass(frozen=True, slots=True)
class PortState:
    """One port.

    Args:
        guid: of the port of an adapter, of the node of a switch.
        state: "Active", "Initialize", "Armed" or "Down".
        physical_state: "LinkUp", "Polling", "Disabled", ...
        speed: None for a port without a link.
        partner: description of the other device; None for a port without a link.
        hint: such as "Could be NDR"; empty if the link has the best speed of both ends.
    """

    device: str
    kind: DeviceKind
    guid: str
    port: int
    state: str
    physical_state: str
    speed: Speed | None
    partner: str | None
    partner_port: int | None
    hint: str


def parse_iblinkinfo(text: str) -> tuple[PortState, ...]:
    """Return all ports in the order of the text.

    Raises:
        Unreadable: the text is empty, has an unknown line, or an active port without partner or speed.
    """
    ports: list[PortState] = []
    device: tuple[str, DeviceKind, str | None] | None = None
    for line in text.splitlines():
        if not line.strip():
            continue
        if match := _DEVICE.match(line):
            device = (
                (match["switch"], DeviceKind.SWITCH, match["guid"])
                if match["guid"]
                else (match["name"], _KINDS[match["kind"]], None)
            )
        elif (match := _PORT.match(line)) and device is not None:
            ports.append(_port(match, device))
        else:
            raise Unreadable("a line of iblinkinfo", line, where=_TOOL)
    if not ports:
        raise Unreadable("ports", text, where=_TOOL)
    return tuple(ports)


def _port(match: re.Match[str], device: tuple[str, DeviceKind, str | None]) -> PortState:
    name, kind, switch_guid = device
    guid = switch_guid or match["guid"]
    if guid is None:
        raise Unreadable("the GUID of a port", match[0], where=_TOOL)
    speed = _speed(match) if match["lanes"] else None
    is_linked = match["other_port"] is not None
    if match["state"] != "Down" and (speed is None or not is_linked):
        raise Unreadable("speed and partner of an active port", match[0], where=_TOOL)
    return PortState(
        device=name,
        kind=kind,
        guid=guid,
        port=integer(match["port"]),
        state=match["state"],
        physical_state=match["physical"],
        speed=speed,
        partner=match["other"] if is_linked else None,
        partner_port=integer(match["other_port"]) if is_linked else None,
        hint=match["hint"].strip(),
    )


def _speed(match: re.Match[str]) -> Speed:
    lanes, name = integer(match["lanes"]), SPEED_OF_GBPS.get(match["gbps"])
    if name is None or lanes not in WIDTHS:
        raise Unreadable("a known rate of InfiniBand", f"{lanes}X {match['gbps']} Gbps", where=_TOOL)
    return Speed(lanes, name)
