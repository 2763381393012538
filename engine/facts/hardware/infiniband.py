"""Parser of `/sys/class/infiniband`: adapters and their ports.

The tree is captured as `path:content` lines (`grep -rsH ''`) or as a mapping. Paths need only the part from the device
name on. Ports of bonds and of Ethernet adapters are included; their link layer distinguishes them.

Sources: captures of 8 x H100 (leptonai/gpud) and 8 x A100 (facebookresearch/gcm), read 2026-11-20.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ..numbers import integer
from ..unreadable import Unreadable

_DEVICE_FILE = re.compile(
    r"(?:^|/)(?P<device>[a-z]\w*)/(?P<field>fw_ver|board_id|hca_type|node_type|node_desc|slot|vpd_model)$"
)
_PORT_FILE = re.compile(
    r"(?:^|/)(?P<device>[a-z]\w*)/ports/(?P<port>\d+)/(?P<field>state|phys_state|rate|link_layer|sm_lid|counters/\w+)$"
)
_SLOT = re.compile(r"^[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]$")
SWITCH_MANAGEMENT = "SW_MNG"
"""Model in the VPD of a ConnectX-7 that is part of an NVSwitch board (B200, B300): `SMDL=SW_MNG`. The start script of
nvidia-fabricmanager 570 and later, and bottlerocket-os/bottlerocket, find these devices by it (read 2026-11-28)."""
_RATE = re.compile(r"^([\d.]+) Gb/sec")
_CODE = re.compile(r"^\d+: (.+)$")


@dataclass(frozen=True, slots=True)
class Port:
    """One port. A field without file is None."""

    number: int
    state: str | None
    """"ACTIVE", "INIT" (no subnet manager), "DOWN", ..."""
    phys_state: str | None
    """"LinkUp", "Polling", "Disabled", ..."""
    rate_gbit_s: float | None
    link_layer: str | None
    """"InfiniBand" or "Ethernet"."""
    manager_lid: int | None = None
    """LID of the subnet manager; 0 if the port has not seen one."""
    counters: Mapping[str, int] = field(default_factory=dict)
    """Counters by file name."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """One host channel adapter with its ports, in order of their numbers."""

    name: str
    hca_type: str | None
    fw_ver: str | None
    board_id: str | None
    ports: tuple[Port, ...]
    slot: str | None = None
    """PCI address, such as `0000:18:00.0`."""
    description: str | None = None
    is_switch_management: bool = False
    """Whether the adapter manages NVSwitches, and is not connected to a network."""

    @property
    def is_bond(self) -> bool:
        """Whether the device is a bond of two physical devices."""
        return "bond" in self.name


def parse_infiniband(files: Mapping[str, str]) -> tuple[Adapter, ...]:
    """Return adapters sorted by name.

    Args:
        files: contents by path; other paths than those of adapters are ignored.
    """
    devices: dict[str, dict[str, str]] = {}
    ports: dict[tuple[str, int], dict[str, str]] = {}
    for path, content in files.items():
        if match := _PORT_FILE.search(path):
            ports.setdefault((match["device"], integer(match["port"])), {})[match["field"]] = content.strip()
            devices.setdefault(match["device"], {})
        elif (match := _DEVICE_FILE.search(path)) and match["device"] != "infiniband":
            devices.setdefault(match["device"], {})[match["field"]] = content.strip()
    return tuple(
        Adapter(
            name=name,
            hca_type=fields.get("hca_type"),
            fw_ver=fields.get("fw_ver"),
            board_id=fields.get("board_id"),
            ports=tuple(_port(number, ports[name, number]) for device, number in sorted(ports) if device == name),
            slot=slot if _SLOT.match(slot := fields.get("slot", "")) else None,
            description=fields.get("node_desc"),
            is_switch_management=fields.get("vpd_model") == SWITCH_MANAGEMENT,
        )
        for name, fields in sorted(devices.items(), key=lambda item: _natural(item[0]))
    )


@lru_cache(maxsize=4)
def parse_adapters(text: str) -> tuple[Adapter, ...]:
    """Return adapters sorted by name, from `path:content` lines; cached, because several checks of a node read them.

    Raises:
        Unreadable: a line has no colon.
    """
    return parse_infiniband(parse_tree(text))


def parse_tree(text: str) -> dict[str, str]:
    """Return the first line of each file by path, from `path:content` lines.

    Raises:
        Unreadable: a line has no colon.
    """
    files: dict[str, str] = {}
    for line in text.splitlines():
        path, separator, content = line.partition(":")
        if not separator:
            raise Unreadable("`path:content`", line, where="sysfs")
        files.setdefault(path, content)
    return files


def _port(number: int, fields: Mapping[str, str]) -> Port:
    rate = _RATE.match(fields.get("rate", ""))
    return Port(
        number=number,
        state=_word(fields.get("state")),
        phys_state=_word(fields.get("phys_state")),
        rate_gbit_s=float(rate[1]) if rate else None,
        link_layer=fields.get("link_layer"),
        manager_lid=_number(fields.get("sm_lid")),
        counters={
            name.removeprefix("counters/"): count
            for name, text in fields.items()
            if name.startswith("counters/") and (count := _number(text)) is not None
        },
    )


def _number(text: str | None) -> int | None:
    """Return a decimal or hexadecimal number; None for another text."""
    return integer(text, 0) if text and re.fullmatch(r"0|[1-9]\d{0,19}|0x[0-9a-f]{1,8}", text) else None


def _word(value: str | None) -> str | None:
    """Return `ACTIVE` for `4: ACTIVE`; None for another format."""
    match = _CODE.match(value or "")
    return match[1] if match else None


def _natural(name: str) -> tuple[str | int, ...]:
    return tuple(integer(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name))
