"""Parsers of disks: `smartctl --json -a` of NVMe and ATA devices, and `df`.

Sources: smartctl(8) of smartmontools 7.4, JSON format 1.0; NVM Express Base Specification 2.0, 5.16.1.3 (SMART log).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..numbers import integer
from ..unreadable import MALFORMED, Unreadable

_MOUNT = re.compile(r"^(?P<path>/\S*) +(?P<size>\d+) +(?P<free>\d+) +(?P<inodes>\d+|-) +(?P<free_inodes>\d+|-)$")


@dataclass(frozen=True, slots=True)
class DiskHealth:
    """SMART state of one disk. A value that the disk does not report is None.

    Args:
        is_supported: whether the disk has SMART. Virtual disks lack it.
        passed: overall state, as the disk assesses itself.
        critical_warning: bits of an NVMe controller; 0 is healthy.
        used_percent: consumed endurance; can exceed 100.
        spare_percent, spare_limit_percent: remaining spare blocks of an NVMe device, and the limit of its vendor.
        media_errors: unrecovered errors of data integrity; sectors that wait for reallocation on ATA.
    """

    device: str
    protocol: str
    is_supported: bool
    passed: bool | None
    critical_warning: int | None
    used_percent: int | None
    spare_percent: int | None
    spare_limit_percent: int | None
    media_errors: int | None


def parse_smartctl(text: str) -> DiskHealth:
    """Parse the JSON of one disk.

    Raises:
        Unreadable: the text has another form, or smartctl could not open the disk.
    """
    try:
        document = json.loads(text)
        status, device = int(document["smartctl"]["exit_status"]), document["device"]
        log = document.get("nvme_smart_health_information_log") or {}
        name, protocol = str(device["name"]), str(device["protocol"])
        supported = (document.get("smart_support") or {}).get("available")
        # smartctl(8), EXIT STATUS: bit 0 is a wrong command line, bit 1 a device that could not be opened.
        if status & 0b11 and supported is not False:
            raise Unreadable(f"smartctl to read {name}", f"exit status {status}", where="smartctl", is_description=True)
        endurance = (document.get("endurance_used") or {}).get("current_percent")
        return DiskHealth(
            device=name,
            protocol=protocol,
            is_supported=supported is not False,
            passed=_boolean((document.get("smart_status") or {}).get("passed")),
            critical_warning=_integer(log.get("critical_warning")),
            used_percent=_integer(log.get("percentage_used", endurance)),
            spare_percent=_integer(log.get("available_spare")),
            spare_limit_percent=_integer(log.get("available_spare_threshold")),
            media_errors=_integer(log["media_errors"]) if "media_errors" in log else _pending_sectors(document),
        )
    except MALFORMED:
        raise Unreadable("JSON of smartctl", text, where="smartctl") from None


def parse_disks(text: str) -> dict[str, DiskHealth]:
    """Parse blocks `## device`, each with the JSON of smartctl; empty without a disk.

    Raises:
        Unreadable: a block has another form, describes another disk, or occurs twice.
    """
    found: dict[str, DiskHealth] = {}
    for block in re.split(r"(?m)^## ", text)[1:]:
        name, _, document = block.partition("\n")
        disk = parse_smartctl(document)
        if name.strip() in found or disk.device != name.strip():
            raise Unreadable(f"each disk once, and JSON of {name.strip()}", disk.device, where="smartctl")
        found[disk.device] = disk
    return found


def parse_df(text: str) -> dict[str, tuple[int, int, int | None, int | None]]:
    """Return size, free bytes, inodes and free inodes by mount point, from lines of these five values.

    A file system without a table of inodes has None.

    Raises:
        Unreadable: no line, or a line of another form.
    """
    found = {}
    for line in text.splitlines():
        match = _MOUNT.match(line.strip())
        if match is None:
            raise Unreadable("mount point, size, free bytes, inodes and free inodes", line, where="df")
        inodes, free = ((integer(match[key]) if match[key] != "-" else None) for key in ("inodes", "free_inodes"))
        found[match["path"]] = (integer(match["size"]), integer(match["free"]), inodes, free)
    if not found:
        raise Unreadable("file systems", text, where="df")
    return found


def _pending_sectors(document: Mapping[str, Any]) -> int | None:
    """Return the raw value of attribute 197 of an ATA disk."""
    table = (document.get("ata_smart_attributes") or {}).get("table", [])
    return next((_integer(row["raw"]["value"]) for row in table if row["id"] == 197), None)


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _boolean(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
