"""Failures, missing results and waivers as an OSCAL plan of action and milestones. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .metadata import ASSESSMENT_RESULTS, POAM, SSP, evidence_by_check, metadata
from .names import MISSING, line, prop, uuid_of
from .references import Document, finding_uuid, scope
from .risks import WAIVED, risks_of
from .system_security_plan import system_uuid

_OWNER = f"{MISSING}: owner and date"


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
    return {
        "uuid": uuid_of("poam-item", risk["uuid"]),
        "title": risk["title"],
        "description": risk["description"],
        "props": [
            prop("control", control["id"]),
            prop("state", control["state"]),
            prop("deadline", risk["deadline"] if is_waived else _OWNER),
        ],
        "related-findings": [{"finding-uuid": finding_uuid(document, control["id"])}],
        "related-risks": [{"risk-uuid": risk["uuid"]}],
        "remarks": line("Accepted until the deadline." if is_waived else _OWNER),
    }
