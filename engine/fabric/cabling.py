"""Planned cabling: a CSV file of links, and its difference from a discovered fabric.

    device,port,peer,peer_port
    leaf1,1,dgx-01 mlx5_0,1
    leaf1,33,spine1,1

A device is the description of the node, the name within the description of a managed switch, or `0x` and the GUID.
Lines that begin with `#` are comments. A planned link is present, missing (both ends are free or absent), or wrong (an
end is connected to another port). If several devices have the name of an end, the link of one of them is sufficient.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.fabric.links import End
from .names import is_aggregation_node
from .topology import Fabric

COLUMNS = ("device", "port", "peer", "peer_port")
MAX_LINKS = 200_000
_MAX_PORT = 255  # IBTA: port numbers have 8 bits


@dataclass(frozen=True, slots=True, order=True)
class PlannedEnd:
    """One end of a planned link."""

    device: str
    port: int

    def __str__(self) -> str:
        return f"{self.device} port {self.port}"


@dataclass(frozen=True, slots=True)
class PlannedLink:
    """A planned link; `line` is its line in the file."""

    one: PlannedEnd
    other: PlannedEnd
    line: int


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """A line of the file that cannot be used; `line` counts from 1."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class CablingDifference:
    """Difference of plan and fabric.

    Args:
        missing: planned links whose ends are free or absent.
        wrong: (planned link, end, actual partner) of links to another port.
        unplanned: links of the fabric that the plan does not contain, without SHARP aggregation nodes; both ends.
    """

    missing: tuple[PlannedLink, ...]
    wrong: tuple[tuple[PlannedLink, PlannedEnd, str], ...]
    unplanned: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the fabric has exactly the planned links."""
        return not (self.missing or self.wrong or self.unplanned)


def parse_plan(text: str) -> tuple[tuple[PlannedLink, ...], tuple[PlanProblem, ...]]:
    """Return the planned links and all problems of the file, both by line."""
    links: list[PlannedLink] = []
    problems: list[PlanProblem] = []
    used: dict[PlannedEnd, int] = {}
    rows = [
        (number, row)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
        for row in _csv_rows(line)
    ]
    if not rows or tuple(cell.strip() for cell in rows[0][1]) != COLUMNS:
        return (), (PlanProblem(rows[0][0] if rows else 1, f"expected the header {','.join(COLUMNS)}"),)
    for number, row in rows[1:]:
        cells = [cell.strip() for cell in row]
        if len(cells) != len(COLUMNS) or not cells[0] or not cells[2]:
            problems.append(PlanProblem(number, "expected device, port, peer and peer_port"))
            continue
        if not all(_is_port(each) for each in (cells[1], cells[3])):
            problems.append(PlanProblem(number, f"expected ports of 1 to {_MAX_PORT}"))
            continue
        link = PlannedLink(PlannedEnd(cells[0], int(cells[1])), PlannedEnd(cells[2], int(cells[3])), number)
        for end in (link.one, link.other):
            if end in used:
                problems.append(PlanProblem(number, f"{end} is already planned in line {used[end]}"))
            used.setdefault(end, number)
        links.append(link)
    if not links and not problems:
        problems.append(PlanProblem(rows[0][0], "expected at least one link"))
    if len(links) > MAX_LINKS:
        problems.append(PlanProblem(1, f"expected at most {MAX_LINKS} links, got {len(links)}"))
    return tuple(links), tuple(problems)


def _csv_rows(line: str) -> list[list[str]]:
    """Return the row of a line; an empty row if it is not CSV, such as one with a cell above 128 KiB."""
    try:
        return list(csv.reader(io.StringIO(line)))
    except csv.Error:
        return [[]]


def compare(plan: tuple[PlannedLink, ...], fabric: Fabric) -> CablingDifference:
    """Return the difference of the plan and a fabric."""
    names = _guids_by_name(fabric)
    missing: list[PlannedLink] = []
    wrong: list[tuple[PlannedLink, PlannedEnd, str]] = []
    planned: set[End] = set()
    for link in plan:
        both = [[End(guid, end.port) for guid in names.get(end.device, ())] for end in (link.one, link.other)]
        planned.update(*both)
        found = [[fabric.links_by_end[end] for end in ends if end in fabric.links_by_end] for ends in both]
        if any(each in found[1] for each in found[0]):
            continue
        connected = [index for index in (0, 1) if found[index]]
        if not connected:
            missing.append(link)
        for index in connected[:1]:
            actual = found[index][0]
            partner = actual.other if actual.one in both[index] else actual.one
            wrong.append((link, (link.one, link.other)[index], fabric.label(partner)))
    unplanned = tuple(
        fabric.label_link(link)
        for link in fabric.links
        if link.one not in planned
        and link.other not in planned
        and not any(
            is_aggregation_node(device.description)
            for end in (link.one, link.other)
            if (device := fabric.by_guid.get(end.guid)) is not None
        )
    )
    return CablingDifference(tuple(missing), tuple(wrong), unplanned)


def plan_of(fabric: Fabric) -> str:
    """Return the links of a fabric as a plan, without SHARP aggregation nodes."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(fabric))
    return out.getvalue()


def _rows(fabric: Fabric) -> Iterator[tuple[str, int, str, int]]:
    names = _names(fabric)
    spines = {each.guid for each in fabric.spines}
    for switch in fabric.switches:
        for own, other, _ in fabric.neighbours(switch.guid):
            device = fabric.by_guid[other.guid]
            is_first = (own.guid in spines, own) < (other.guid in spines, other)
            if is_aggregation_node(device.description) or (device.is_switch and not is_first):
                continue
            ends = [
                name if names.get(name := fabric.name(end.guid)) == end.guid else f"0x{end.guid}"
                for end in (own, other)
            ]
            yield ends[0], own.port, ends[1], other.port


def _names(fabric: Fabric) -> dict[str, str]:
    """Return GUIDs by unique name, description and `0xGUID`. A name of several devices is omitted."""
    return {name: guids[0] for name, guids in _guids_by_name(fabric).items() if len(guids) == 1}


def _guids_by_name(fabric: Fabric) -> dict[str, list[str]]:
    """Return GUIDs by name, description and `0xGUID`."""
    found: dict[str, list[str]] = {}
    for guid, device in fabric.by_guid.items():
        for name in {fabric.name(guid), device.description, f"0x{guid}"} - {""}:
            found.setdefault(name, []).append(guid)
    return found


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 3 and 1 <= int(text) <= _MAX_PORT
