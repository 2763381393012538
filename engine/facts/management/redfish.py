"""Parser of Redfish: health of all resources, firmware versions, redundancy, fans, temperatures and power supplies.

    report = parse_redfish("## /redfish/v1/Chassis/1\n{...}\n## /redfish/v1/Chassis/1/Power\n{...}\n")
    report.unhealthy()                    # resources whose health is Warning or Critical

The text has one block for each requested resource. Both models of the standard are read: Thermal and Power until
2020.4, ThermalSubsystem, PowerSubsystem and Sensor after it.

Sources: DMTF DSP0266 1.20 (protocol), DSP2046 2025.2 (properties of Chassis, ComputerSystem, Manager, Power, Thermal,
PowerSupply, Fan, Sensor, SoftwareInventory); read 2026-11-28.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..unreadable import MALFORMED, Unreadable

HEALTHS = ("OK", "Warning", "Critical")
_ABSENT = frozenset({"Absent", "Disabled"})
_LISTS = ("PowerSupplies", "Fans", "Temperatures", "Redundancy")
"""Lists of parts inside the older resources Power and Thermal."""
_DEVICE = re.compile(r"#(?P<type>\w+)\.")


@dataclass(frozen=True, slots=True)
class RedfishPart:
    """A resource, or a part inside of one.

    Args:
        path: with the list and position for a part of Power or Thermal.
        kind: type without version, such as Chassis, PowerSupply, Fan, Temperature or Redundancy.
        health: OK, Warning or Critical; None if the part does not state it.
        state: such as Enabled or Absent; None if the part does not state it.
        reading: temperature in Celsius, or speed of a fan in its own unit.
        firmware: version of a manager or of an entry of the firmware inventory.
    """

    path: str
    kind: str
    name: str
    health: str | None
    state: str | None
    reading: float | None = None
    firmware: str | None = None

    @property
    def is_absent(self) -> bool:
        """Whether the resource states that the part is not there, or not in use."""
        return self.state in _ABSENT


@dataclass(frozen=True, slots=True)
class RedfishReport:
    """All parts, in the order of the text."""

    parts: tuple[RedfishPart, ...]

    def of_kind(self, kind: str) -> tuple[RedfishPart, ...]:
        """Return the parts of a kind that are not absent."""
        return tuple(part for part in self.parts if part.kind == kind and not part.is_absent)

    def unhealthy(self) -> tuple[RedfishPart, ...]:
        """Return the parts with another health than OK."""
        return tuple(part for part in self.parts if part.health not in (None, "OK") and not part.is_absent)

    @property
    def firmware(self) -> dict[str, str]:
        """Versions by name of the part, from the firmware inventory and the managers."""
        return {part.name: part.firmware for part in self.parts if part.firmware}


def parse_redfish(text: str) -> RedfishReport:
    """Parse blocks `## path`, each with the JSON of a resource. Collections contribute no part.

    Raises:
        Unreadable: no block, a block of another form, an error of the service, or an unknown health.
    """
    parts: list[RedfishPart] = []
    blocks = re.split(r"(?m)^## ", text)[1:]
    for block in blocks:
        path, _, body = block.partition("\n")
        try:
            document = json.loads(body)
            if "error" in document:
                raise Unreadable(
                    f"the resource {path}", "an error of the service", where="redfish", is_description=True
                )
            if "Members" not in document:
                parts += _parts(path.strip(), document)
        except MALFORMED:
            raise Unreadable(f"JSON of {path.strip()}", body, where="redfish") from None
    if not blocks or not parts:
        raise Unreadable("resources of Redfish", text, where="redfish")
    return RedfishReport(tuple(parts))


def _parts(path: str, document: Mapping[str, Any]) -> Iterator[RedfishPart]:
    """Yield the resource, and the parts in its lists."""
    match = _DEVICE.match(document["@odata.type"])
    if match is None:
        raise ValueError(document["@odata.type"])
    yield _part(path, match["type"], document)
    for name in _LISTS:
        for number, each in enumerate(document.get(name) or ()):
            if "Name" in each or "MemberId" in each:  # otherwise a link to a resource of its own
                yield _part(f"{path}#/{name}/{number}", _singular(name), each)


def _singular(name: str) -> str:
    return {"PowerSupplies": "PowerSupply", "Redundancy": "Redundancy"}.get(name, name.removesuffix("s"))


def _part(path: str, kind: str, values: Mapping[str, Any]) -> RedfishPart:
    status = values.get("Status") or {}
    health = status.get("HealthRollup") if status.get("Health") is None else status.get("Health")
    if health is not None and health not in HEALTHS:
        raise Unreadable("OK, Warning or Critical", str(health), where=f"redfish: {path}")
    reading = next((values[name] for name in ("Reading", "ReadingCelsius") if values.get(name) is not None), None)
    firmware = values.get("Version") if kind == "SoftwareInventory" else values.get("FirmwareVersion")
    return RedfishPart(
        path=path,
        kind=kind,
        name=str(values.get("Name") or values.get("MemberId") or values["Id"]),
        health=health,
        state=status.get("State"),
        reading=float(reading) if isinstance(reading, int | float) else None,
        firmware=str(firmware) if firmware else None,
    )
