"""Parsers of RoCE settings: interfaces, `mlnx_qos`, `ibv_devinfo`, and `ethtool -S`.

Texts of several interfaces are divided by lines `interface ADAPTER NETWORK_DEVICE`, which the probe prints.

Sources: mlnx_qos of MLNX_OFED (att/netarbiter, output sample; community.mellanox.com DOC-2792), ECN in sysfs
(docs.nvidia.com, DOCA, Explicit Congestion Notification), Linux, networking/device_drivers/ethernet/mellanox/mlx5/
counters.rst; read 2026-11-28. No capture of an own machine exists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..numbers import integer
from ..unreadable import Unreadable

PRIORITIES = 8
_INTERFACE = re.compile(r"^interface (?P<adapter>[\w.-]+) (?P<device>[\w.@-]+)$")
_TRUST = re.compile(r"^Priority trust state: (?P<trust>dscp|pcp|both)$")
_MAPPING = re.compile(r"^prio:(?P<priority>[0-7]) dscp:(?P<values>[\d,]+)$")
_ROW = re.compile(r"^(?P<name>priority|enabled)\s+(?P<values>\d(?:\s+\d){7})$")
_COUNTER = re.compile(r"^ *(?P<name>[\w.\[\]() -]+?): (?P<value>\d+)$")
_ADAPTER = re.compile(r"^hca_id:\s+(?P<name>[\w.-]+)$")
_ACTIVE_MTU = re.compile(r"^active_mtu:\s+(?P<bytes>\d+) \(\d+\)$")
_SETTING = re.compile(r"^(?P<name>[a-z_]+) (?P<value>.*)$")


@dataclass(frozen=True, slots=True, order=True)
class Interface:
    """An adapter and its network device, such as `mlx5_0` and `ens1f0np0`."""

    adapter: str
    device: str

    def __str__(self) -> str:
        return f"{self.adapter} ({self.device})"


@dataclass(frozen=True, slots=True)
class QualityOfService:
    """Output of `mlnx_qos -i DEVICE`.

    Args:
        trust: `dscp`, `pcp` or `both`.
        priority_of_dscp: as mapped; empty if the tool prints no mapping.
        lossless: priorities with flow control (PFC).
    """

    trust: str
    priority_of_dscp: Mapping[int, int]
    lossless: frozenset[int]


def by_interface(text: str) -> dict[Interface, str]:
    """Return the text of each interface, in the order of the text; empty for an empty text.

    Raises:
        Unreadable: text before the first interface, or an interface occurs twice.
    """
    found: dict[Interface, list[str]] = {}
    lines: list[str] | None = None
    for line in text.splitlines():
        if match := _INTERFACE.match(line):
            interface = Interface(match["adapter"], match["device"])
            if interface in found:
                raise Unreadable("each interface once", line, where="probe")
            lines = found.setdefault(interface, [])
        elif lines is not None:
            lines.append(line)
        elif line.strip():
            raise Unreadable("an interface", line, where="probe")
    return {interface: "\n".join(each) for interface, each in found.items()}


def parse_mlnx_qos(text: str) -> QualityOfService:
    """Return the settings of one interface. Lines about buffers, rates and cables are ignored.

    Raises:
        Unreadable: trust state or flow control is missing or occurs twice, or a DSCP has two priorities.
    """
    trust: list[str] = []
    rows: dict[str, list[int]] = {}
    mapping: dict[int, int] = {}
    is_flow_control = False
    for line in (each.strip() for each in text.splitlines()):
        if match := _TRUST.match(line):
            trust.append(match["trust"])
        elif match := _MAPPING.match(line):
            for value in filter(None, match["values"].split(",")):
                if mapping.setdefault(integer(value), integer(match["priority"])) != integer(match["priority"]):
                    raise Unreadable(f"one priority of DSCP {value}", line, where="mlnx_qos")
        elif line.startswith("PFC configuration"):
            is_flow_control = True
        elif is_flow_control and (match := _ROW.match(line)):
            if match["name"] in rows:
                raise Unreadable("one row of each name", line, where="mlnx_qos")
            rows[match["name"]] = [integer(each) for each in match["values"].split()]
    if len(trust) != 1:
        raise Unreadable("one trust state", ", ".join(trust), where="mlnx_qos")
    if rows.get("priority") != list(range(PRIORITIES)) or not set(rows.get("enabled", [2])) <= {0, 1}:
        raise Unreadable("flow control of 8 priorities", text, where="mlnx_qos")
    return QualityOfService(trust[0], mapping, frozenset(priority for priority, on in enumerate(rows["enabled"]) if on))


def parse_settings(text: str) -> dict[str, str]:
    """Return the settings that the probe reads in sysfs, by name. An unreadable file has no line.

    Raises:
        Unreadable: a line has another format, or a name occurs twice.
    """
    found: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        match = _SETTING.match(line)
        if match is None or match["name"] in found:
            raise Unreadable("a setting once, as `name value`", line, where="sysfs")
        found[match["name"]] = match["value"].strip()
    return found


def parse_active_mtus(text: str) -> dict[str, int]:
    """Return the active MTU of RDMA by adapter, from `ibv_devinfo`; the lowest of several ports.

    Raises:
        Unreadable: no adapter, or an adapter without a port.
    """
    found: dict[str, list[int]] = {}
    mtus: list[int] | None = None
    for line in (each.strip() for each in text.splitlines()):
        if match := _ADAPTER.match(line):
            mtus = found.setdefault(match["name"], [])
        elif (match := _ACTIVE_MTU.match(line)) and mtus is not None:
            mtus.append(integer(match["bytes"]))
    if not found or not all(found.values()):
        raise Unreadable("the active MTU of each adapter", text, where="ibv_devinfo")
    return {name: min(each) for name, each in found.items()}


def parse_statistics(text: str) -> dict[str, int]:
    """Return the counters of `ethtool -S` by name.

    Raises:
        Unreadable: the header is missing, a line has another format, or no counter follows.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or lines[0].strip() != "NIC statistics:":
        raise Unreadable("`NIC statistics:`", text, where="ethtool -S")
    found: dict[str, int] = {}
    for line in lines[1:]:
        match = _COUNTER.match(line)
        if match is None:
            raise Unreadable("a counter", line, where="ethtool -S")
        found[match["name"]] = integer(match["value"])
    if not found:
        raise Unreadable("counters", text, where="ethtool -S")
    return found
