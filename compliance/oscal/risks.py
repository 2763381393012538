"""Failures, missing results and waivers as OSCAL risks, which findings and the POA&M refer to. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .names import line, present, prop, uuid_of
from .references import Document, related_observations, scope

OPEN_STATES = {
    "fail": ("open", "A check failed."),
    "error": ("investigating", "A check or target has no result."),
}
"""Status of the risk, and its statement, by state of the control."""
WAIVED = "deviation-approved"
_OPEN_ROWS = ("finding", "unmeasured")


def risk_uuids(control: Mapping[str, Any], document: Document) -> list[str]:
    """Return the UUIDs of the risks of one control: of its open state, and of each waiver."""
    names = (*scope(document), control["id"])
    own = [uuid_of("risk", *names)] if control["state"] in OPEN_STATES else []
    return [*own, *(uuid_of("waiver", *names, waiver["id"]) for waiver in control["waivers"])]


def rows_of(control: Mapping[str, Any], document: Document) -> list[Mapping[str, Any]]:
    """Return the rows of the plan of action that a control needs, without those of waivers and deviations."""
    name = {"pack": document["pack"]["name"], "control": control["id"]}
    return [row for row in document.get("poam", ()) if row["kind"] in _OPEN_ROWS and name in row["controls"]]


def risks_of(control: Mapping[str, Any], document: Document, evidence: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the risks of one control, in the order of `risk_uuids`.

    Args:
        evidence: by check; observations exist for its keys.
    """
    uuids = risk_uuids(control, document)
    checks = control["mapping"]["checks"] if control["mapping"] else []
    if control["state"] in OPEN_STATES:
        status, statement = OPEN_STATES[control["state"]]
        yield present(
            uuid=uuids.pop(0),
            title=line(f"{control['id']}: {control['state']}"),
            description=line("; ".join(control["reasons"]) or control["title"]),
            statement=statement,
            props=[prop("control", control["id"]), prop("state", control["state"])],
            status=status,
            deadline=_deadline(control, document),
            related_observations=related_observations(checks, document, evidence),
        )
    for uuid, waiver in zip(uuids, control["waivers"], strict=True):
        yield present(
            uuid=uuid,
            title=line(f"{control['id']}: waiver {waiver['id']}"),
            description=line(waiver["reason"]),
            statement=line(f"{waiver['check']} failed on {', '.join(waiver['targets'])}; accepted until the deadline."),
            props=[
                prop("control", control["id"]),
                *(prop(name.replace("_", "-"), waiver[name]) for name in ("check", "requested_by", "approved_by")),
                *(prop("target", target) for target in waiver["targets"]),
                prop("approved", waiver["approved"]),
            ],
            status=WAIVED,
            mitigating_factors=[
                {"uuid": uuid_of("compensating", uuid), "description": line(waiver["compensating"])},
            ],
            deadline=f"{waiver['expires']}T23:59:59Z",
            related_observations=related_observations([waiver["check"]], document, evidence),
        )


def _deadline(control: Mapping[str, Any], document: Document) -> str:
    """Return the earliest deadline of a control's rows; empty without a row."""
    days = [row["deadline"] for row in rows_of(control, document)]
    return f"{min(days)}T23:59:59Z" if days else ""
