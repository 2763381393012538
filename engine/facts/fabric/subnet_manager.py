"""Parsers of `sminfo`, the master subnet manager, and of `saquery SMIR`, all subnet managers that the master knows.

Source: infiniband-diags 44, sminfo(8), saquery(8); their output on ibsim 0.10 with opensm (2026-11-28). States: IBTA
Architecture Specification 1.4, 14.4.1 SMInfo.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from ..numbers import integer
from ..unreadable import Unreadable

_SMINFO = re.compile(
    r"^sminfo: sm lid (?P<lid>\d+) sm guid 0x(?P<guid>[0-9a-f]{1,16}), activity count (?P<activity>\d+) "
    r"priority (?P<priority>\d+) state (?P<state>\d) SMINFO_\w+ *$"
)
_FIELD = re.compile(r"^\s*(?P<name>GUID|SMState|Priority|LID)\.+(?P<value>0x[0-9a-f]+|\d+)$")


class ManagerState(IntEnum):
    """State of a subnet manager."""

    NOT_ACTIVE = 0
    DISCOVERING = 1
    STANDBY = 2
    MASTER = 3


@dataclass(frozen=True, slots=True)
class SubnetManager:
    """A subnet manager.

    Args:
        guid: of its port, 16 hex digits.
    """

    guid: str
    lid: int
    priority: int
    state: ManagerState


def parse_sminfo(text: str) -> SubnetManager:
    """Return the subnet manager that answered.

    Raises:
        Unreadable: the text is not one line of sminfo.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    match = _SMINFO.match(lines[0]) if len(lines) == 1 else None
    if match is None:
        raise Unreadable("the subnet manager", text, where="sminfo")
    return SubnetManager(
        match["guid"].zfill(16), integer(match["lid"]), integer(match["priority"]), _state(integer(match["state"]))
    )


def parse_manager_records(text: str) -> tuple[SubnetManager, ...]:
    """Return all subnet managers of `saquery SMIR`, the master included, in the order of the text.

    Raises:
        Unreadable: the text is empty, or a record lacks a field.
    """
    found: list[SubnetManager] = []
    for record in text.split("SMInfoRecord dump:")[1:]:
        values = {
            match["name"]: integer(match["value"], 0) for line in record.splitlines() if (match := _FIELD.match(line))
        }
        if not {"GUID", "SMState", "Priority", "LID"} <= values.keys():
            raise Unreadable("GUID, LID, priority and state of a subnet manager", record, where="saquery SMIR")
        found.append(
            SubnetManager(f"{values['GUID']:016x}", values["LID"], values["Priority"], _state(values["SMState"]))
        )
    if not found:
        raise Unreadable("subnet managers", text, where="saquery SMIR")
    return tuple(found)


def _state(code: int) -> ManagerState:
    if code not in set(ManagerState):
        raise Unreadable("a state of 0 to 3", str(code), where="sminfo")
    return ManagerState(code)
