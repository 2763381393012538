"""Parser of `mlxlink -d DEVICE -m -c -e`, as text and with `--json`: state, speed, bit errors and module of one port.

Names of fields: NVIDIA MFT 4.34.1 (its JSON sections "Operational Info", "Physical Counters and BER Info", "Module
Info"), and docs.nvidia.com/networking, MFT, mlxlink Utility; both read 2026-11-28. No capture of an own machine exists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..numbers import integer
from ..unreadable import MALFORMED, Unreadable

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_FIELD = re.compile(r"^(?P<name>\S.*?)\s*: (?P<value>.*)$")
_STATE, _BER, _RAW_BER = "State", "Effective Physical BER", "Raw Physical BER"
_ERRORS, _DOWN = "Effective Physical Errors", "Link Down Counter"


@dataclass(frozen=True, slots=True)
class CableLink:
    """One port and its cable.

    Args:
        effective_ber, raw_ber: bit error rate after and before error correction; None if the tool prints N/A.
        link_downs: None if this version of the tool does not print it.
        cable_part, cable_serial: None if no module was read.
    """

    state: str
    physical_state: str
    speed: str
    width: str
    effective_errors: int
    effective_ber: float | None
    raw_ber: float | None
    link_downs: int | None
    cable_part: str | None
    cable_serial: str | None
    recommendation: str


def parse_mlxlink(text: str) -> CableLink:
    """Return the port, from text or JSON.

    Raises:
        Unreadable: a field is missing, or a number is unreadable.
    """
    fields = _from_json(text) if text.lstrip().startswith("{") else _from_text(text)
    return CableLink(
        state=_need(fields, _STATE),
        physical_state=_need(fields, "Physical state"),
        speed=_need(fields, "Speed"),
        width=_need(fields, "Width"),
        effective_errors=_integer(_ERRORS, _need(fields, _ERRORS)),
        effective_ber=_rate(_BER, _need(fields, _BER)),
        raw_ber=_rate(_RAW_BER, _need(fields, _RAW_BER)),
        link_downs=_integer(_DOWN, fields[_DOWN]) if _DOWN in fields else None,
        cable_part=fields.get("Vendor Part Number"),
        cable_serial=fields.get("Vendor Serial Number"),
        recommendation=fields.get("Recommendation", ""),
    )


def _from_text(text: str) -> dict[str, str]:
    lines = (_ANSI.sub("", line).strip() for line in text.splitlines())
    return {match["name"]: match["value"].strip() for line in lines if (match := _FIELD.match(line))}


def _from_json(text: str) -> dict[str, str]:
    try:
        document: Any = json.loads(text)
        sections: Mapping[str, Mapping[str, Any]] = document["result"]["output"]
        return {
            name: str(value)
            for section in sections.values()
            if isinstance(section, dict)
            for name, value in section.items()
            if isinstance(value, str | int | float)
        }
    except MALFORMED:
        raise Unreadable("sections in result.output", text, where="mlxlink") from None


def _need(fields: Mapping[str, str], name: str) -> str:
    if not fields.get(name):
        raise Unreadable(name, "nothing", where="mlxlink", is_description=True)
    return fields[name]


def _integer(name: str, value: str) -> int:
    if not value.isascii() or not value.isdecimal():
        raise Unreadable(f"a number as {name}", value, where="mlxlink")
    return integer(value)


def _rate(name: str, value: str) -> float | None:
    if value == "N/A":
        return None
    if not re.fullmatch(r"\d+(\.\d+)?([Ee]-?\d{1,3})?", value):
        raise Unreadable(f"a bit error rate as {name}", value, where="mlxlink")
    return float(value)
