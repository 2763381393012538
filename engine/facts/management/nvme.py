"""Parsers of nvme-cli: `nvme list -o json` of versions 1 and 2, and `nvme id-ctrl -o json`.

Sources: linux-nvme/nvme-cli 1.16 (nvme-print.c) and 2.3 to 2.11 (nvme-print-json.c); NVM Express Base Specification
2.0, figure 275 (identify controller: sn, mn, fr); read 2026-11-28.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..unreadable import MALFORMED, Unreadable


@dataclass(frozen=True, slots=True)
class NvmeDrive:
    """A drive. A value that is blank is None."""

    device: str
    model: str | None
    serial: str | None
    firmware: str | None


def parse_nvme_list(text: str) -> tuple[NvmeDrive, ...]:
    """Parse `nvme list -o json`, sorted by device; empty without a drive.

    Raises:
        Unreadable: the text has another form.
    """
    where = "nvme list"
    try:
        rows = json.loads(text)["Devices"]
        drives = [drive for row in rows for drive in _drives(row)]
    except MALFORMED:
        raise Unreadable("JSON of `nvme list`", text, where=where) from None
    return tuple(sorted(drives, key=lambda drive: drive.device))


def parse_nvme_controller(text: str, *, device: str) -> NvmeDrive:
    """Parse `nvme id-ctrl -o json` of a device.

    Raises:
        Unreadable: the text has another form.
    """
    try:
        row = json.loads(text)
        return NvmeDrive(device, _text(row["mn"]), _text(row["sn"]), _text(row["fr"]))
    except MALFORMED:
        raise Unreadable("JSON of `nvme id-ctrl`", text, where="nvme id-ctrl") from None


def _drives(row: Mapping[str, Any]) -> Iterator[NvmeDrive]:
    """Yield the drives of a row: one of version 1, or the controllers of the subsystems of version 2."""
    if "DevicePath" in row:
        yield NvmeDrive(
            str(row["DevicePath"]), _text(row["ModelNumber"]), _text(row["SerialNumber"]), _text(row["Firmware"])
        )
        return
    for subsystem in row["Subsystems"]:
        for each in subsystem["Controllers"]:
            yield NvmeDrive(
                f"/dev/{each['Controller']}",
                _text(each["ModelNumber"]),
                _text(each["SerialNumber"]),
                _text(each["Firmware"]),
            )


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        raise TypeError(value)
    return value.strip() or None
