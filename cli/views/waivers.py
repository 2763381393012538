"""Waivers and plans of action as lines and rows of the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sovctl.compliance.controls.exceptions import WaiverText

HEADINGS = ("ID", "STATE", "EXPIRES", "DAYS", "CHECKS", "TARGETS", "CONTROLS", "REQUESTED BY", "APPROVED BY")


def state_of(waiver: WaiverText, on: date, unsigned: Container[str] = ()) -> str:
    """Return `future`, `in effect`, `unsigned` or `expired`.

    Args:
        unsigned: ids of the waivers whose signatures do not suffice.
    """
    if on < waiver.approved:
        return "future"
    if waiver.counts_on(on) and waiver.id in unsigned:
        return "unsigned"
    return "in effect" if waiver.counts_on(on) else "expired"


def row(waiver: WaiverText, on: date, unsigned: Container[str] = ()) -> tuple[str, ...]:
    """Return the cells of a waiver under `HEADINGS`."""
    return (
        waiver.id,
        state_of(waiver, on, unsigned),
        waiver.expires.isoformat(),
        str((waiver.expires - on).days),
        ", ".join(waiver.checks),
        ", ".join(waiver.targets),
        ", ".join(waiver.controls) or "all with the checks",
        waiver.requested_by,
        waiver.approved_by,
    )


def as_json(waiver: WaiverText, on: date, unsigned: Mapping[str, str]) -> dict[str, Any]:
    """Return a waiver, its state and the days until its last day."""
    return waiver.model_dump(mode="json") | {
        "state": state_of(waiver, on, unsigned),
        "signature_problem": unsigned.get(waiver.id, ""),
        "days_left": (waiver.expires - on).days,
    }


def poam_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the numbers of a plan of action, such as "3 finding, 1 waived; 1 overdue"; empty without rows."""
    kinds = Counter(str(each["kind"]) for each in rows)
    overdue = sum(bool(each["is_overdue"]) for each in rows)
    unowned = sum(each["owner"] == "MISSING" for each in rows)
    parts = [", ".join(f"{number} {kind}" for kind, number in kinds.items())]
    parts += [f"{overdue} overdue"] if overdue else []
    parts += [f"{unowned} without owner"] if unowned else []
    return "; ".join(parts) if rows else ""
