"""The controls of a pack as an OSCAL catalog, and the profile that selects all of them. Pure.

The catalog has the ids, titles and objectives of the pack, and no text of a standard. A control without a statement in
the pack has its title as statement, so that findings have a target.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from .metadata import CATALOG, PROFILE, metadata
from .names import control_token, label, line, objective_token, present, prop, statement_token, uuid_of
from .references import Document


def catalog(document: Document) -> dict[str, Any]:
    """Return the catalog."""
    pack = document["pack"]
    groups = [
        {"id": f"group-{number}", "title": line(family), "controls": [_control(each) for each in members]}
        for number, (family, members) in enumerate(_families(document["controls"]), start=1)
    ]
    head = metadata(document, "Controls")
    head["remarks"] = line(f"Source: {pack['source']}. Licence: {pack['licence']}.")
    return {"catalog": {"uuid": uuid_of(CATALOG, pack["name"], pack["sha256"]), "metadata": head, "groups": groups}}


def profile(document: Document) -> dict[str, Any]:
    """Return the profile: all controls of the catalog, because coverage is relative to the whole pack."""
    pack = document["pack"]
    return {
        "profile": {
            "uuid": uuid_of(PROFILE, pack["name"], pack["sha256"]),
            "metadata": metadata(document, "Baseline"),
            "imports": [
                {
                    "href": CATALOG,
                    "include-controls": [{"with-ids": [control_token(each["id"]) for each in document["controls"]]}],
                }
            ],
            "merge": {"as-is": True},
        }
    }


def _families(controls: list[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Return the controls by family; a family that is interrupted by another one is one group."""
    order = {family: number for number, family in enumerate(dict.fromkeys(each["family"] for each in controls))}
    ordered = sorted(controls, key=lambda each: order[each["family"]])
    return [(family, list(found)) for family, found in groupby(ordered, key=lambda each: str(each["family"]))]


def _control(control: Mapping[str, Any]) -> dict[str, Any]:
    objectives = control["mapping"]["objectives"] if control["mapping"] else []
    statement = {"id": statement_token(control["id"]), "name": "statement", "prose": line(control["title"])}
    return present(
        id=control_token(control["id"]),
        title=line(control["title"]),
        props=[label(control["id"]), *([prop("unverified", control["unsure"])] if control.get("unsure") else [])],
        parts=[statement, *(_objective(control["id"], each) for each in objectives)],
    )


def _objective(control_id: str, objective: Mapping[str, Any]) -> dict[str, Any]:
    checks = [*objective["checks"], *objective["if_present"]]
    return present(
        id=objective_token(control_id, objective["name"]),
        name="assessment-objective",
        props=[prop("check", check) for check in checks],
        prose=line(objective["statement"]),
    )
