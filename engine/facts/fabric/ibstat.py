"""Parser of `ibstat`: the adapters of a node with firmware, GUIDs, state and rate of their ports.

Sources: infiniband-diags 44, ibstat(8); its output on ibsim 0.10 (2026-11-28), which prints the layer `IB`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..numbers import integer
from ..unreadable import Unreadable

_ADAPTER = re.compile(r"^CA '(?P<name>[\w.-]+)'$")
_PORT = re.compile(r"^\tPort (?P<number>\d+):$")
_FIELD = re.compile(r"^\t{1,2}(?P<name>[A-Z][\w ]*): (?P<value>.*)$")


@dataclass(frozen=True, slots=True)
class StatedPort:
    """One port; `rate_gbit_s` is None if the tool prints none."""

    number: int
    state: str
    physical_state: str
    rate_gbit_s: float | None
    guid: str
    link_layer: str
    manager_lid: int


@dataclass(frozen=True, slots=True)
class StatedAdapter:
    """One adapter with its ports, in order of their numbers."""

    name: str
    adapter_type: str
    firmware: str
    node_guid: str
    ports: tuple[StatedPort, ...]


def parse_ibstat(text: str) -> tuple[StatedAdapter, ...]:
    """Return the adapters in the order of the text.

    Raises:
        Unreadable: the text is empty, a line has an unknown format, or a port or field is missing.
    """
    adapters: list[tuple[str, dict[str, str], dict[int, dict[str, str]]]] = []
    fields: dict[str, str] | None = None
    for line in text.splitlines():
        if not line.strip():
            continue
        if match := _ADAPTER.match(line):
            fields = {}
            adapters.append((match["name"], fields, {}))
        elif (match := _PORT.match(line)) and adapters:
            fields = adapters[-1][2].setdefault(integer(match["number"]), {})
        elif (match := _FIELD.match(line)) and fields is not None:
            fields[match["name"]] = match["value"].strip()
        else:
            raise Unreadable("a line of ibstat", line, where="ibstat")
    if not adapters:
        raise Unreadable("adapters", text, where="ibstat")
    return tuple(_adapter(*each) for each in adapters)


def _adapter(name: str, fields: Mapping[str, str], ports: Mapping[int, Mapping[str, str]]) -> StatedAdapter:
    if _need(fields, "Number of ports", name) != str(len(ports)):
        raise Unreadable(f"{fields['Number of ports']} ports of {name}", str(len(ports)), where="ibstat")
    return StatedAdapter(
        name=name,
        adapter_type=_need(fields, "CA type", name),
        firmware=_need(fields, "Firmware version", name),
        node_guid=_need(fields, "Node GUID", name).removeprefix("0x"),
        ports=tuple(_port(name, number, values) for number, values in sorted(ports.items())),
    )


def _port(name: str, number: int, fields: Mapping[str, str]) -> StatedPort:
    rate, manager = _need(fields, "Rate", name), _need(fields, "SM lid", name)
    if not manager.isdecimal():
        raise Unreadable(f"the LID of {name}'s subnet manager", manager, where="ibstat")
    return StatedPort(
        number=number,
        state=_need(fields, "State", name),
        physical_state=_need(fields, "Physical state", name),
        rate_gbit_s=float(rate) if re.fullmatch(r"\d+(\.\d+)?", rate) else None,
        guid=_need(fields, "Port GUID", name).removeprefix("0x"),
        link_layer=_need(fields, "Link layer", name),
        manager_lid=integer(manager),
    )


def _need(fields: Mapping[str, str], name: str, adapter: str) -> str:
    if not fields.get(name):
        raise Unreadable(f"{name!r} of {adapter}", "nothing", where="ibstat", is_description=True)
    return fields[name]
