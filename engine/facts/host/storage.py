"""Parsers of storage: `findmnt --json`, `lsblk --json --inverse`, /proc/mdstat, /proc/swaps, /etc/fstab.

Sources: util-linux 2.38 findmnt(8) and lsblk(8); Linux Documentation/admin-guide/md.rst; fstab(5).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..unreadable import MALFORMED, Unreadable


@dataclass(frozen=True, slots=True)
class MountedFilesystem:
    """A mounted file system. `source` is a device path without the subvolume in brackets."""

    source: str
    filesystem: str
    options: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Array:
    """A software RAID.

    Args:
        faults: failed members by device, and the number of missing ones; empty if all members are active.
    """

    level: str
    faults: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all members are active, and none is missing."""
        return not self.faults


def parse_findmnt(text: str) -> dict[str, MountedFilesystem]:
    """Return file systems by mount point; of several at one point the last one, which is visible.

    Raises:
        Unreadable: the text is not JSON of findmnt.
    """
    try:
        rows = json.loads(text)["filesystems"]
        return {
            row["target"]: MountedFilesystem(
                (row["source"] or "").partition("[")[0], row["fstype"], tuple(row["options"].split(",")),
                int(row["size"] or 0),
            )
            for row in rows
        }  # fmt: skip
    except MALFORMED:
        raise Unreadable("JSON of findmnt", text, where="findmnt") from None


def parse_lsblk(text: str) -> dict[str, tuple[str, ...]]:
    """Return the types of the devices below each device, itself first, such as ("lvm", "crypt", "raid1", "part").

    Args:
        text: of `lsblk --json --inverse --paths`, in which a device contains the devices it consists of.

    Raises:
        Unreadable: the text is not JSON of lsblk.
    """
    found: dict[str, tuple[str, ...]] = {}

    def visit(device: Mapping[str, Any]) -> tuple[str, ...]:
        below = [kind for child in device.get("children", []) for kind in visit(child)]
        types = tuple(dict.fromkeys([str(device["type"]), *below]))
        found[str(device["name"])] = types
        return types

    try:
        for device in json.loads(text)["blockdevices"]:
            visit(device)
    except MALFORMED:
        raise Unreadable("JSON of lsblk", text, where="lsblk") from None
    return found


_SLOTS = re.compile(r"\[\d+/\d+\] \[([U_]+)\]")
_MEMBER = re.compile(r"(\S+)\[\d+\]((?:\([A-Z]\))*)")


def parse_mdstat(text: str) -> dict[str, Array]:
    """Return software RAIDs by name, such as "md0". RAID 0 has no redundancy, and is complete if it is active.

    Raises:
        Unreadable: the first line is not that of /proc/mdstat.
    """
    if not text.startswith("Personalities :"):
        raise Unreadable("a line `Personalities : ...`", text, where="/proc/mdstat")
    found = {}
    for block in re.split(r"\n(?=md\S+ : )", text)[1:]:
        head = block.split()
        level = next((word for word in head if word.startswith("raid")), "")
        found[head[0]] = Array(level, tuple(_faults(block, head[2], level)))
    return found


def _faults(block: str, state: str, level: str) -> Iterator[str]:
    """Yield the faults of an array, from its lines in /proc/mdstat."""
    words = map(_MEMBER.fullmatch, block.splitlines()[0].split())
    members = {match[1]: match[2] for match in words if match}
    failed = [device for device, flags in members.items() if "(F)" in flags]
    yield from (f"{device} failed" for device in failed)
    if state != "active":
        yield state
    slots = _SLOTS.search(block)
    if slots is None and level != "raid0":
        yield "number of members unknown"
    missing = slots[1].count("_") - len(failed) if slots else 0
    if slots and missing > 0:
        present = ", ".join(sorted(members.keys() - set(failed)))
        yield f"{missing} of {len(slots[1])} members missing, present: {present}"


def parse_swaps(text: str) -> list[str]:
    """Return the swap devices and files in use from /proc/swaps, sorted.

    Raises:
        Unreadable: the first line is not that of /proc/swaps.
    """
    lines = text.splitlines()
    if not lines or not lines[0].startswith("Filename"):
        raise Unreadable("a line `Filename Type Size Used Priority`", text, where="/proc/swaps")
    return sorted(line.split()[0] for line in lines[1:] if line.strip())


def swap_entries(fstab: str) -> list[str]:
    """Return the devices of swap entries in /etc/fstab, sorted."""
    return sorted(words[0] for words in _fstab(fstab) if words[2] == "swap")


def _fstab(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3 and not words[0].startswith("#"):
            yield words
