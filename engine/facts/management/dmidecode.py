"""Parser of dmidecode: system, board, BIOS, memory modules and slots.

    table = parse_dmidecode(text)
    table.value("BIOS Information", "Version")       # "1.6.7"
    memory_modules(table)                            # one per socket, also the empty ones

Sources: dmidecode 3.3 to 3.5, dmidecode(8); DMTF DSP0134 (SMBIOS) 3.7, 7.18 (memory device), 7.10 (system slots);
capture of a Dell XE9680 (leptonai/gpud, read 2026-11-20).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..inventory import UNSET
from ..numbers import integer
from ..unreadable import Unreadable

BIOS, SYSTEM, BASEBOARD = "BIOS Information", "System Information", "Base Board Information"
MEMORY, SLOT, CONTROLLER = "Memory Device", "System Slot Information", "IPMI Device Information"

_HANDLE = re.compile(r"^Handle 0x[0-9A-F]{4}, DMI type (?P<type>\d+), \d+ bytes$")
_VALUE = re.compile(r"^\s+(?P<name>[^:]+):(?: (?P<value>.*))?$")
_PRESENT = re.compile(r"^SMBIOS \d+\.\d+(?:\.\d+)? present\.$")
_SIZE = re.compile(r"^(?P<count>\d+) (?P<unit>kB|MB|GB|TB)$")
_BYTES = {"kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_SPEED = re.compile(r"^(\d+) (?:MT/s|MHz)$")
_HEAD = ("Getting SMBIOS data from ", "Scanning /dev/mem for entry point.", "Table at ")
_COUNTED = re.compile(r"^\d+ structures occupying \d+ bytes\.$")
_OMITTED = "End Of Table"


@dataclass(frozen=True, slots=True)
class DmiRecord:
    """One structure: its title and its values. A value that the vendor did not set is None."""

    title: str
    values: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class DmiTable:
    """All printed structures, in order."""

    records: tuple[DmiRecord, ...]

    def of(self, title: str) -> tuple[DmiRecord, ...]:
        """Return the structures with a title."""
        return tuple(each for each in self.records if each.title == title)

    def value(self, title: str, name: str) -> str | None:
        """Return a value of the first structure with a title; None if it is absent or unset."""
        return next((each.values.get(name) for each in self.of(title)), None)


@dataclass(frozen=True, slots=True)
class MemoryModule:
    """A socket for a memory module.

    Args:
        size_bytes: 0 for an empty socket; None if the BIOS does not know it.
        speed_mt_s: configured speed in million transfers a second; None if it is not printed.
    """

    locator: str
    size_bytes: int | None
    speed_mt_s: int | None
    part: str | None


@dataclass(frozen=True, slots=True)
class ExpansionSlot:
    """An expansion slot; `bus_address` is None for an empty slot of some vendors."""

    designation: str
    is_used: bool
    bus_address: str | None


def parse_dmidecode(text: str) -> DmiTable:
    """Parse the output of `dmidecode`, with any `-t`.

    Raises:
        Unreadable: no SMBIOS, no structure, or a line of another form.
    """
    records: list[DmiRecord] = []
    is_present, title, values = False, "", dict[str, str | None]()
    for line in text.splitlines():
        if not line.strip() or line.startswith(("#", *_HEAD)) or _COUNTED.match(line):
            continue
        if _PRESENT.match(line):
            is_present = True
        elif _HANDLE.match(line):
            title, values = "?", {}
        elif title == "?" and not line[0].isspace():
            title = line.strip()
            if title != _OMITTED:
                records.append(DmiRecord(title, values))
        elif title not in ("", "?") and line[0].isspace():
            if (match := _VALUE.match(line)) and not line.startswith(("\t\t", " " * 16)):
                values[match["name"].strip()] = _set_or_none(match["value"])
        else:
            raise Unreadable("a structure of SMBIOS", line, where="dmidecode")
    if not is_present or not records or title == "?":
        raise Unreadable("structures of SMBIOS", text, where="dmidecode")
    return DmiTable(tuple(records))


def memory_modules(table: DmiTable) -> tuple[MemoryModule, ...]:
    """Return all sockets.

    Raises:
        Unreadable: none is printed, or a socket has no locator or a size of another form.
    """
    found = []
    for record in table.of(MEMORY):
        locator, size = record.values.get("Locator"), record.values.get("Size")
        if locator is None or "Size" not in record.values:
            raise Unreadable("locator and size of a memory socket", str(dict(record.values)), where="dmidecode")
        speed = _SPEED.match(record.values.get("Configured Memory Speed") or "")
        found.append(
            MemoryModule(locator, _bytes(size), integer(speed[1]) if speed else None, record.values.get("Part Number"))
        )
    if not found:
        raise Unreadable("memory sockets", "none", where="dmidecode", is_description=True)
    return tuple(found)


def expansion_slots(table: DmiTable) -> tuple[ExpansionSlot, ...]:
    """Return all slots; empty if the BIOS describes none.

    Raises:
        Unreadable: a slot has no designation, or its use is unknown.
    """
    found = []
    for record in table.of(SLOT):
        name, usage = record.values.get("Designation"), record.values.get("Current Usage")
        if name is None or usage not in ("In Use", "Available", "Unavailable"):
            raise Unreadable("designation and usage of a slot", str(dict(record.values)), where="dmidecode")
        found.append(ExpansionSlot(name, usage == "In Use", record.values.get("Bus Address")))
    return tuple(found)


def _set_or_none(value: str | None) -> str | None:
    return None if value is None or value.strip() in (*UNSET, "Unknown") else value.strip()


def _bytes(size: str | None) -> int | None:
    if size is None:
        return None
    if size == "No Module Installed":
        return 0
    match = _SIZE.match(size)
    if match is None:
        raise Unreadable("a size such as 64 GB", size, where="dmidecode")
    return integer(match["count"]) * _BYTES[match["unit"]]
