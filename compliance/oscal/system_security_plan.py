"""The site as an OSCAL system security plan: components, inventory, and the controls that components support. Pure.

Fields that only people know begin with MISSING. The plan claims `partial` at most: every objective has a part that
requires people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .component_definition import contribution
from .components import COMPONENTS, checks_by_component, system_component
from .metadata import PROFILE, SSP, inventory, metadata
from .names import MISSING, control_token, line, present, prop, uuid_of
from .references import Document, owner, scope

_PARTIAL = {"state": "partial"}


def system_security_plan(document: Document) -> dict[str, Any]:
    """Return the system security plan."""
    site = document["subject"]["site"]
    return {
        "system-security-plan": {
            "uuid": uuid_of(SSP, *scope(document), document["pack"]["sha256"], *document["run"]["spec_sha256"]),
            "metadata": metadata(document, "System security plan"),
            "import-profile": {"href": PROFILE},
            "system-characteristics": _characteristics(document),
            "system-implementation": {
                "users": [
                    {
                        "uuid": uuid_of("user", site),
                        "title": "Operators",
                        "role-ids": ["system-owner"],
                        "remarks": f"{MISSING}: users and their privileges.",
                    }
                ],
                "components": [this_system(document), *(system_component(each) for each in COMPONENTS)],
                **present(inventory_items=list(inventory(document))),
            },
            "control-implementation": {
                "description": "Controls that checks of sovctl support, and controls that people must describe.",
                "implemented-requirements": [_requirement(each, document) for each in document["controls"]],
            },
        }
    }


def system_uuid(document: Document) -> str:
    """Return the UUID of the whole site as a component."""
    return uuid_of("system", document["subject"]["site"])


def this_system(document: Document) -> dict[str, Any]:
    """Return the component of the whole site."""
    return {
        "uuid": system_uuid(document),
        "type": "this-system",
        "title": line(document["subject"]["site"]),
        "description": "The site that site.yaml describes.",
        "status": {"state": "operational"},
    }


def _characteristics(document: Document) -> dict[str, Any]:
    subject = document["subject"]
    known = [(name, subject.get(name)) for name in ("jurisdiction", "placement")]
    return {
        "system-ids": [{"identifier-type": "https://ietf.org/rfc/rfc4122", "id": system_uuid(document)}],
        "system-name": line(subject["site"]),
        "description": "Servers, model pools and gateway for language models inside a closed perimeter.",
        "props": [
            *(prop(name, value) for name, value in known if value),
            *(prop("site-yaml-sha256", digest) for digest in document["run"]["spec_sha256"]),
        ],
        "security-sensitivity-level": f"{MISSING}: decided by the operator",
        "system-information": {
            "information-types": [
                {
                    "uuid": uuid_of("information-type", subject["site"]),
                    "title": "Prompts and answers",
                    "description": f"{MISSING}: classes of data in prompts and answers, and their impact levels.",
                }
            ]
        },
        "status": {"state": "operational"},
        "authorization-boundary": {
            "description": f"The nodes of site.yaml. {MISSING}: other systems inside the boundary."
        },
        "responsible-parties": [{"role-id": "system-owner", "party-uuids": [owner(document)]}],
    }


def _requirement(control: Mapping[str, Any], document: Document) -> dict[str, Any]:
    names = (*scope(document), control["id"])
    requirement = {"uuid": uuid_of("ssp-requirement", *names), "control-id": control_token(control["id"])}
    checks = checks_by_component(control["mapping"])
    if not checks:
        remarks = f"{MISSING}: no check is evidence for this control; people describe its implementation."
        return requirement | {"props": [prop("described-by", "people")], "remarks": remarks}
    parts = [
        {
            "component-uuid": component.uuid,
            "uuid": uuid_of("by-component", *names, component.name),
            "description": contribution(control, checks[component.name]),
            "implementation-status": _PARTIAL,
        }
        for component in COMPONENTS
        if component.name in checks
    ]
    return requirement | {"props": [prop("described-by", "sovctl")], "by-components": parts}
