"""Parser of `ibnetdiscover`, and of its list of ports (`ibnetdiscover -p`).

    discovery = parse_ibnetdiscover(text)
    discovery.devices, discovery.links

The tool prints every link at both of its ends. A text with an end that does not return the same link is cut or was
edited, and is rejected. Devices keep the order of the text; a GUID that occurs twice remains twice.

Sources: infiniband-diags, ibnetdiscover(8); capture of 40 NDR switches (NVIDIA/topograph, read 2026-11-20) and of `-p`
(treydock/infiniband_exporter, read 2026-11-20).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..numbers import integer
from ..unreadable import Unreadable
from .links import Device, DeviceKind, End, Link, Speed, speed_of

_TOOL = "ibnetdiscover"
_HEADER = re.compile(
    r"^(?:vendid=0x[0-9a-f]+|sysimgguid=0x[0-9a-f]+|devid=0x(?P<device_id>[0-9a-f]+)"
    r"|(?:switch|ca|rt)guid=0x[0-9a-f]+(?:\([0-9a-f]+\))?)$"
)
_DEVICE = re.compile(
    r'^(?P<kind>Switch|Ca|Rt)\t(?P<ports>\d{1,3}) "[SHR]-(?P<guid>[0-9a-f]{16})"\s+# "(?P<description>.*)"'
    r"(?: (?:enhanced|base) port 0 lid (?P<lid>\d+) lmc \d+)?$"
)
_PORT = re.compile(
    r'^\[(?P<port>\d{1,3})\](?:\[ext \d+\])?(?:\([0-9a-f]+\))?\s+"[SHR]-(?P<guid>[0-9a-f]{16})"\[(?P<other>\d{1,3})\]'
    r'(?:\[ext \d+\])?(?:\([0-9a-f]+\))?\s+# (?:lid (?P<lid>\d+) lmc \d+ )?"(?P<description>.*)" lid \d+'
    r" (?P<speed>\d{1,2}x[A-Z0-9]+)$"
)
_LISTED = re.compile(
    r"^(?P<kind>CA|SW|RT)\s+(?P<lid>\d+)\s+(?P<port>\d{1,3}) 0x(?P<guid>[0-9a-f]{16}) (?P<speed>\d{1,2}x \S+)"
    r"(?: - (?P<other_kind>CA|SW|RT)\s+\d+\s+(?P<other_port>\d{1,3}) 0x(?P<other_guid>[0-9a-f]{16})"
    r" \( '(?P<description>.*)' - '(?P<other_description>.*)' \)|\s+'(?P<alone>.*)')$"
)


@dataclass(frozen=True, slots=True)
class Discovery:
    """Devices and links of one sweep.

    Args:
        devices: in the order of the text.
        links: each once, sorted.
    """

    devices: tuple[Device, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class ListedPort:
    """One line of `ibnetdiscover -p`.

    Args:
        speed: None if the port has no partner and the tool prints `???`.
        other: the partner; None without one.
    """

    kind: DeviceKind
    end: End
    lid: int
    description: str
    speed: Speed | None
    other: End | None
    other_description: str | None


def parse_ibnetdiscover(text: str) -> Discovery:
    """Return devices and links.

    Raises:
        Unreadable: the text is empty, cut, has unknown lines, or contradicts itself.
    """
    devices: list[Device] = []
    directed: dict[tuple[End, End], Speed] = {}
    seen_descriptions: list[tuple[str, str]] = []
    device_id: str | None = None
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if match := _PORT.match(line):
            if not devices:
                raise Unreadable("a device before its ports", line, where=_TOOL)
            if devices[-1].lid is None and match["lid"] is not None:
                devices[-1] = _with_lid(devices[-1], integer(match["lid"]))
            ends = End(devices[-1].guid, integer(match["port"])), End(match["guid"], integer(match["other"]))
            if ends in directed:
                raise Unreadable("each link once at each end", line, where=_TOOL)
            directed[ends] = speed_of(match["speed"], where=_TOOL)
            seen_descriptions.append((match["guid"], match["description"]))
        elif match := _HEADER.match(line):
            device_id = match["device_id"] or device_id
        elif match := _DEVICE.match(line):
            devices.append(_device(match, device_id))
            device_id = None
        else:
            raise Unreadable("a line of ibnetdiscover", line, where=_TOOL)
    if not devices or not directed:
        raise Unreadable("devices and links", text, where=_TOOL)
    _check_descriptions(devices, seen_descriptions)
    return Discovery(tuple(devices), tuple(_links(directed, {each.guid: each for each in devices})))


def parse_port_list(text: str) -> tuple[ListedPort, ...]:
    """Return the lines of `ibnetdiscover -p`, in order.

    Raises:
        Unreadable: the text is empty, or a line has an unknown format.
    """
    found = tuple(_listed(line) for line in text.splitlines() if line.strip() and not line.startswith("#"))
    if not found:
        raise Unreadable("ports", text, where=f"{_TOOL} -p")
    return found


def discovery_of_ports(ports: tuple[ListedPort, ...]) -> Discovery:
    """Return devices and links of a port list, which has no device ids.

    A list that ends between two links is not recognized as cut; checks use the whole form.

    Raises:
        Unreadable: an end of a link is missing.
    """
    devices: dict[str, Device] = {}
    directed: dict[tuple[End, End], Speed] = {}
    for each in ports:
        known = devices.get(each.end.guid)
        count = max(each.end.port, known.port_count if known else 0)
        devices[each.end.guid] = Device(each.end.guid, each.kind, count, each.description, None, each.lid)
        if each.other is not None and each.speed is not None:
            directed[each.end, each.other] = each.speed
    return Discovery(tuple(devices.values()), tuple(_links(directed, devices)))


def _device(match: re.Match[str], device_id: str | None) -> Device:
    lid = integer(match["lid"]) if match["lid"] else None
    kind = DeviceKind(match["kind"])
    if kind is DeviceKind.SWITCH and lid is None:
        raise Unreadable("the LID of a switch", match[0], where=_TOOL)
    return Device(match["guid"], kind, integer(match["ports"]), match["description"], device_id, lid)


def _with_lid(device: Device, lid: int) -> Device:
    return Device(device.guid, device.kind, device.port_count, device.description, device.device_id, lid)


def _check_descriptions(devices: list[Device], seen: list[tuple[str, str]]) -> None:
    known = {(each.guid, each.description) for each in devices}
    guids = {each.guid for each in devices}
    for guid, description in seen:
        if guid in guids and (guid, description) not in known:
            raise Unreadable(f"one description of {guid}", description, where=_TOOL)


def _links(directed: dict[tuple[End, End], Speed], devices: dict[str, Device]) -> Iterator[Link]:
    for (one, other), speed in sorted(directed.items(), key=lambda item: item[0]):
        back = directed.get((other, one))
        if back is None:
            raise Unreadable(
                f"both ends of the link from {one.guid} port {one.port}", "one end", where=_TOOL, is_description=True
            )
        if back != speed:
            raise Unreadable(f"one speed at both ends of {one.guid} port {one.port}", f"{speed}, {back}", where=_TOOL)
        for end in (one, other):
            if end.guid not in devices or not 1 <= end.port <= devices[end.guid].port_count:
                raise Unreadable(f"a known device and port for {end.guid} port {end.port}", "", where=_TOOL)
        if one < other:
            yield Link(one, other, speed)


_KINDS = {"CA": DeviceKind.ADAPTER, "SW": DeviceKind.SWITCH, "RT": DeviceKind.ROUTER}


def _listed(line: str) -> ListedPort:
    match = _LISTED.match(line.rstrip())
    if match is None:
        raise Unreadable("a line of ibnetdiscover -p", line, where=f"{_TOOL} -p")
    is_alone = match["alone"] is not None
    has_speed = not (is_alone and "?" in match["speed"])
    return ListedPort(
        kind=_KINDS[match["kind"]],
        end=End(match["guid"], integer(match["port"])),
        lid=integer(match["lid"]),
        description=match["alone"] if is_alone else match["description"],
        speed=speed_of(match["speed"], where=f"{_TOOL} -p") if has_speed else None,
        other=None if is_alone else End(match["other_guid"], integer(match["other_port"])),
        other_description=match["other_description"],
    )
