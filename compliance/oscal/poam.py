"""Failures, missing results and waivers as an OSCAL plan of action and milestones. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .metadata import ASSESSMENT_RESULTS, POAM, SSP, evidence_by_check, metadata
from .names import MISSING, prop, uuid_of
from .references import Document, finding_uuid, scope
from .risks import WAIVED, risks_of, rows_of
from .system_security_plan import system_uuid


def poam(document: Document) -> dict[str, Any] | None:
    """Return the plan; None without an item, because OSCAL has no empty plan."""
    evidence = evidence_by_check(document)
    items, risks = [], []
    for control in document["controls"]:
        for risk in risks_of(control, document, evidence):
            risks.append(risk)
            items.append(_item(control, risk, document))
    if not items:
        return None
    head = metadata(document, "Plan of action and milestones")
    head["links"] = [{"href": ASSESSMENT_RESULTS, "rel": "reference"}]
    return {
        "plan-of-action-and-milestones": {
            "uuid": uuid_of(POAM, *scope(document), document["run"]["id"], document["generated"]),
            "metadata": head,
            "import-ssp": {"href": SSP},
            "system-id": {"identifier-type": "https://ietf.org/rfc/rfc4122", "id": system_uuid(document)},
            "risks": risks,
            "poam-items": items,
        }
    }


def _item(control: Mapping[str, Any], risk: Mapping[str, Any], document: Document) -> dict[str, Any]:
    is_waived = risk["status"] == WAIVED
    rows = [] if is_waived else rows_of(control, document)
    owners = sorted({row["owner"] for row in rows}) or ([] if is_waived else [MISSING])
    return {
        "uuid": uuid_of("poam-item", risk["uuid"]),
        "title": risk["title"],
        "description": risk["description"],
        "props": [
            prop("control", control["id"]),
            prop("state", control["state"]),
            prop("deadline", risk.get("deadline", MISSING)),
            *(prop("owner", owner) for owner in owners),
            *(prop("poam-row", row["id"]) for row in rows),
            *(prop("overdue", row["id"]) for row in rows if row["is_overdue"]),
        ],
        "related-findings": [{"finding-uuid": finding_uuid(document, control["id"])}],
        "related-risks": [{"risk-uuid": risk["uuid"]}],
        "remarks": "Accepted until the deadline." if is_waived else "To be corrected or measured until the deadline.",
    }
