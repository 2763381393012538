"""Storage: no swap, and the file systems of site.yaml with their encryption and RAID.

- File systems are compared only. sovctl never formats, encrypts or assembles a disk; apply refuses a node that differs.
- A container uses the storage of its host, and has no such resources.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.host.storage import parse_findmnt, parse_lsblk, parse_mdstat, parse_swaps, swap_entries
from ...facts.node import NodeFacts
from ...facts.unreadable import Unreadable
from ...spec import Node
from ...spec.host import Mount
from ..context import Context
from ..resource import Desired, State
from ..resource_type import Query, ResourceType

SWAPS, FSTAB, MDSTAT = "/proc/swaps", "/etc/fstab", "/proc/mdstat"
_GIB = 1 << 30
COMMANDS = {
    "findmnt": ["findmnt", "--json", "--list", "--real", "--bytes", "--output", "TARGET,SOURCE,FSTYPE,OPTIONS,SIZE"],
    "lsblk": ["lsblk", "--json", "--inverse", "--paths", "--output", "NAME,TYPE"],
}


def mounts_of(context: Context, node: Node) -> list[Mount]:
    """Return the file systems that site.yaml requires on a node."""
    group = context.group(node).name
    return [each for each in context.spec.host.mounts if not each.node_groups or group in each.node_groups]


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    if facts is not None and facts.is_container:
        return
    if context.spec.host.swap == "off":
        yield Desired(
            kind="storage",
            name="swap",
            state={"in_use": [], "at_boot": []},
            why="swapped memory contains prompts and keys",
            variables={"is_asserted": False},
        )
    for mount in mounts_of(context, node):
        state: dict[str, object] = {"is_mounted": True, "min_size_gib": mount.min_size_gib}
        if mount.filesystem is not None:
            state["filesystem"] = mount.filesystem
        if mount.is_encrypted:
            state["is_encrypted"] = True
        if mount.raid is not None:
            state |= {"raid": mount.raid, "raid_faults": []}
        if mount.options:
            state["options"] = list(mount.options)
        yield Desired(
            kind="storage",
            name=mount.path,
            state=state,
            why="file system of host.mounts; compared only, sovctl never formats a disk",
            variables={"is_asserted": True},
        )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    if desired.name == "swap":
        try:
            in_use = parse_swaps(facts.texts.get(SWAPS) or "")
        except Unreadable:
            return {"in_use": None, "at_boot": None}
        # Units of swap that fstab does not contain, such as zram-generator's, are in use now or are not active.
        return {"in_use": in_use, "at_boot": swap_entries(facts.texts.get(FSTAB) or "")}
    return _mount(facts, desired)


def _mount(facts: NodeFacts, desired: Desired) -> State | None:
    wanted = desired.state or {}
    found = parse_findmnt(facts.answer("findmnt")).get(desired.name)
    if found is None:
        return None
    types = parse_lsblk(facts.answer("lsblk")).get(found.source, ())
    level = next((each for each in types if each.startswith("raid")), None)
    size_gib = found.size_bytes // _GIB
    return {
        "is_mounted": True,
        "filesystem": found.filesystem,
        "min_size_gib": min(size_gib, int(wanted["min_size_gib"])),
        "is_encrypted": "crypt" in types,
        "raid": level,
        "raid_faults": _array_faults(facts, level),
        "options": [each for each in wanted.get("options", ()) if each in found.options],
    }


def _array_faults(facts: NodeFacts, level: str | None) -> list[str] | None:
    """Return the faults of all software RAIDs of a level, such as "md0: nvme1n1p2 failed"; None without one."""
    try:
        arrays = parse_mdstat(facts.texts.get(MDSTAT) or "")
    except Unreadable:
        return None
    of_level = {name: array for name, array in sorted(arrays.items()) if array.level == level}
    if not of_level:
        return None
    return [f"{name}: {fault}" for name, array in of_level.items() for fault in array.faults]


def _query(context: Context, node: Node) -> Query:
    return Query(read=(SWAPS, FSTAB, MDSTAT), commands=COMMANDS if mounts_of(context, node) else {})


RESOURCE_TYPE = ResourceType("storage", _expect, _observe, _query)
