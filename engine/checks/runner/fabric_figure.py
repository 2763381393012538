"""Draws the InfiniBand fabric for the report, from the raw output of the checks of the fabric."""

from __future__ import annotations

from collections.abc import Callable

from sovctl.compliance.evidence.runs import EvidenceRun
from sovctl.compliance.report.document import Figure

from ...fabric.drawing import draw
from ...fabric.reading import read_fabric
from ...facts.unreadable import Unreadable
from ..definitions.fabric._fabric_check import FabricCheck
from ..model.probe_sections import parse_sections
from ..model.result import output_of
from ..registry import CHECKS

_CHECKS = frozenset(check.id for check in CHECKS if isinstance(check, FabricCheck))


def figures_of(run: EvidenceRun, read_raw: Callable[[str], bytes]) -> tuple[Figure, ...]:
    """Return one drawing for each fabric that the run discovered; none if no sweep is readable.

    Args:
        read_raw: returns the raw output of a record by its SHA-256.
    """
    records: dict[str, list[str]] = {}
    simulated: set[str] = set()
    for record in run.records:
        if record.evidence.check_id in _CHECKS:
            records.setdefault(record.evidence.raw_sha256, []).append(record.sha256)
            simulated |= {record.evidence.raw_sha256} if record.evidence.simulated else set()
    figures = []
    for digest, drawn_from in records.items():
        try:
            fabric = read_fabric(parse_sections(output_of(read_raw(digest))).text("topology"))
        except Unreadable:
            continue  # the checks report why, as UNKNOWN
        svg = draw(fabric, is_simulated=digest in simulated)
        figures.append(Figure("InfiniBand fabric", svg, tuple(drawn_from)))
    return tuple(figures)
