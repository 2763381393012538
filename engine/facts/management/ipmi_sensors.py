"""Parser of the sensors of a management controller: `ipmitool sdr type ...` and `ipmitool sdr elist`.

A line has name, number, status, entity and reading: `Fan1A | 30h | ok | 7.1 | 5880 RPM`. The status is the controller's
own comparison with its thresholds. `ipmitool sensor`, which prints the thresholds too, takes minutes on large boards.

Sources: ipmitool 1.8.19, lib/ipmi_sdr.c (`ipmi_sdr_get_status`); IPMI 2.0 revision 1.1, table 42-3; read 2026-11-28.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from ..unreadable import Unreadable

_LINE = re.compile(
    r"^(?P<name>[^|]*?) *\| *(?P<number>[0-9A-F]{2}h) *\| *(?P<status>\w{2}) *\| *(?P<entity>\d+\.\d+) *\|"
    r"(?P<reading>[^|]*)$"
)
_NUMBER = re.compile(r"^(-?\d+(?:\.\d+)?) (?P<unit>.+)$")


class SensorStatus(StrEnum):
    """Comparison of a reading with the thresholds of the controller."""

    OK = "ok"
    NOT_SPECIFIED = "ns"
    """No reading: the part is absent or off, or the sensor is disabled."""
    NON_CRITICAL = "nc"
    CRITICAL = "cr"
    NON_RECOVERABLE = "nr"
    UNSPECIFIED = "us"


@dataclass(frozen=True, slots=True)
class Sensor:
    """A sensor.

    Args:
        name, number: a controller can use a name for several sensors.
        entity: id and instance of the part; 10 is a power supply, 29 a fan.
        value: None for a state in words.
        text: the reading as printed; empty if a sensor of states reports none.
    """

    name: str
    number: str
    status: SensorStatus
    entity: str
    value: float | None
    unit: str | None
    text: str

    @property
    def has_reading(self) -> bool:
        """Whether the sensor reports a value or a state."""
        return self.status is not SensorStatus.NOT_SPECIFIED and self.text not in ("", "No Reading", "Disabled")


def parse_sensors(text: str) -> tuple[Sensor, ...]:
    """Parse the sensors, in the order printed; empty if the output lists no sensor.

    Raises:
        Unreadable: a line of another form, or an unknown status.
    """
    found = []
    for line in text.splitlines():
        if not line.strip():
            continue
        match = _LINE.match(line)
        if match is None or match["status"] not in list(SensorStatus):
            raise Unreadable("name, number, status, entity and reading", line, where="ipmitool sdr")
        reading = match["reading"].strip()
        number = _NUMBER.match(reading)
        found.append(
            Sensor(
                name=match["name"].strip(),
                number=match["number"],
                status=SensorStatus(match["status"]),
                entity=match["entity"],
                value=float(number[1]) if number else None,
                unit=number["unit"] if number else None,
                text=reading,
            )
        )
    return tuple(found)
