"""Text of `sovctl doctor`: a block for each day, one line for each finding, and its remedy below."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.doctor.diagnosis import Diagnosis, Measured

_STYLES = {"done": "green", "missing": "red", "not measured": "yellow", "not yet possible": "yellow"}
_WIDTH = max(map(len, _STYLES))
_TITLE_WIDTH = 22


def show(found: Diagnosis) -> None:
    """Print all items, and whether a plan is possible."""
    from sovctl.engine.doctor.item import Need

    for (day, place), items in groupby(found.items, key=lambda each: (each.item.day, each.item.place)):
        output.line(output.style(f"day {day}, {place}", "bold"))
        for each in items:
            _show_item(each)
    if lacking := found.lacking(Need.PLAN):
        names = ", ".join(each.item.title for each in lacking)
        output.line(f"a plan is not possible yet; needed: {names}")
        return
    later = found.lacking(Need.APPLY)
    output.line("a plan is possible" + ("" if found.contacted else "; the nodes were not contacted (--nodes)"))
    if later:
        output.line(f"needed for an apply: {', '.join(each.item.title for each in later)}")


def _show_item(measured: Measured) -> None:
    for finding in measured.findings:
        state = output.style(f"{finding.state:<{_WIDTH}}", _STYLES[finding.state])
        output.line(f"  {state}  {measured.item.title:<{_TITLE_WIDTH}}  {finding.subject}: {finding.reason}")
        if finding.remedy:
            output.line(f"  {'':<{_WIDTH}}  {measured.item.person}: {finding.remedy}")
