"""The contribution of each component of sovctl to the controls of a pack, as an OSCAL component-definition. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .components import COMPONENTS, Component, checks_by_component
from .metadata import COMPONENT_DEFINITION, PROFILE, metadata
from .names import control_token, line, present, prop, uuid_of
from .references import Document


def component_definition(document: Document) -> dict[str, Any]:
    """Return the component-definition: one component for each part that sovctl configures and checks."""
    pack = document["pack"]
    return {
        "component-definition": {
            "uuid": uuid_of(COMPONENT_DEFINITION, pack["name"], pack["sha256"], document["tool_version"]),
            "metadata": metadata(document, "Components"),
            "components": [_component(each, document) for each in COMPONENTS],
        }
    }


def contribution(control: Mapping[str, Any], checks: list[str]) -> str:
    """Return the description of what some checks support of a control, and what requires people."""
    objectives = [
        each for each in control["mapping"]["objectives"] if {*each["checks"], *each["if_present"]} & set(checks)
    ]
    supports = " ".join(dict.fromkeys(each["statement"] for each in objectives))
    people = " ".join(dict.fromkeys(each["people"] for each in objectives))
    return line(f"{supports} Reason: {control['mapping']['because']}. Requires people: {people}")


def _component(component: Component, document: Document) -> dict[str, Any]:
    requirements = [
        _requirement(component, control, checks[component.name], document)
        for control in document["controls"]
        if component.name in (checks := checks_by_component(control["mapping"]))
    ]
    implementation = {
        "uuid": uuid_of("control-implementation", component.name, document["pack"]["name"]),
        "source": PROFILE,
        "description": line(f"Evidence of {component.title} for parts of controls of {document['pack']['title']}."),
        "implemented-requirements": requirements,
    }
    return present(
        uuid=component.uuid,
        type=component.type,
        title=component.title,
        description=component.description,
        props=[prop("check-topic", topic) for topic in component.topics],
        control_implementations=[implementation] if requirements else [],
    )


def _requirement(
    component: Component, control: Mapping[str, Any], checks: list[str], document: Document
) -> dict[str, Any]:
    return {
        "uuid": uuid_of("implemented-requirement", component.name, document["pack"]["name"], control["id"]),
        "control-id": control_token(control["id"]),
        "description": contribution(control, checks),
        "props": [prop("check", check) for check in checks],
    }
