"""Parser of `systemctl show -p ... UNIT...`: blocks of `Key=value` lines, separated by empty lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .numbers import integer
from .unreadable import Unreadable


@dataclass(frozen=True, slots=True)
class UnitState:
    """One unit. A property that is not in the output is None."""

    id: str
    load: str | None
    """"loaded", "not-found", "masked", ..."""
    active: str | None
    """"active", "inactive", "failed", "activating", ..."""
    sub: str | None
    main_pid: int | None
    """0 without a process."""
    properties: Mapping[str, str]

    @property
    def is_running(self) -> bool:
        """Whether the unit is loaded and active, and its process runs."""
        return self.load == "loaded" and self.active == "active" and self.sub == "running"


def parse_units(text: str) -> tuple[UnitState, ...]:
    """Parse units, in the order printed.

    Raises:
        Unreadable: the output is empty, a line is not `Key=value`, or a unit has no Id.
    """
    units = []
    for block in text.strip().split("\n\n"):
        properties = {}
        for line in block.splitlines():
            key, separator, value = line.partition("=")
            if not separator or not key.isalnum():
                raise Unreadable("`Key=value`", line, where="systemctl show")
            properties[key] = value
        if "Id" not in properties:
            raise Unreadable("an Id", block, where="systemctl show")
        pid = properties.get("MainPID", "")
        units.append(
            UnitState(
                id=properties["Id"],
                load=properties.get("LoadState"),
                active=properties.get("ActiveState"),
                sub=properties.get("SubState"),
                main_pid=integer(pid) if pid.isdecimal() else None,
                properties=properties,
            )
        )
    return tuple(units)
