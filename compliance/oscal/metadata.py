"""Metadata of all OSCAL documents of a report, the site as a system, and its inventory. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .names import label, line, prop, uuid_of
from .references import Document, owner, target_uuid
from .schema import VERSION

CATALOG, PROFILE = "catalog.json", "profile.json"
COMPONENT_DEFINITION, SSP = "component-definition.json", "system-security-plan.json"
ASSESSMENT_PLAN, ASSESSMENT_RESULTS = "assessment-plan.json", "assessment-results.json"
POAM = "plan-of-action-and-milestones.json"

TOOL = uuid_of("component", "sovctl")
SIMULATED = "SIMULATED: evidence of simulated hardware proves nothing about a real site."


def metadata(document: Document, title: str) -> dict[str, Any]:
    """Return the metadata of one document. The declared time is that of the report."""
    subject, pack = document["subject"], document["pack"]
    marks = [prop("pack", pack["name"]), prop("pack-sha256", pack["sha256"]), prop("run", document["run"]["id"])]
    return {
        "title": line(f"{title}: {subject['site']}, {pack['title']}"),
        "last-modified": document["generated"],
        "version": line(document["tool_version"]),
        "oscal-version": VERSION,
        "props": [*marks, prop("simulated", document["simulated"])],
        "roles": [{"id": "system-owner", "title": "Operator of the site"}],
        "parties": [{"uuid": owner(document), "type": "organization", "name": line(subject["site"])}],
        "responsible-parties": [{"role-id": "system-owner", "party-uuids": [owner(document)]}],
        "remarks": line(" ".join([SIMULATED] * document["simulated"] + [document["statement"]])),
    }


def evidence_by_check(document: Document) -> dict[str, list[Mapping[str, Any]]]:
    """Return the evidence of each check, sorted by check, target and ledger index."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for item in document["evidence"]:
        found.setdefault(item["record"]["check_id"], []).append(item)
    return {check: sorted(found[check], key=_by_target) for check in sorted(found)}


def targets(document: Document) -> list[str]:
    """Return all targets of the run, declared or with a record, sorted."""
    found = {target for each in document["populations"].values() for target in each["declared"]}
    return sorted(found | {item["record"]["target"] for item in document["evidence"]})


def inventory(document: Document) -> Iterator[dict[str, Any]]:
    """Yield the targets as items of the inventory."""
    for target in targets(document):
        yield {
            "uuid": target_uuid(document, target),
            "description": line(f"Target {target} of the checks."),
            "props": [label(target), prop("target", target)],
        }


def file_resource(uuid: str, title: str, href: str, sha256: str, media_type: str) -> dict[str, Any]:
    """Return the resource of a file of the report, with its digest."""
    hashes = [{"algorithm": "SHA-256", "value": sha256}]
    return {"uuid": uuid, "title": title, "rlinks": [{"href": href, "media-type": media_type, "hashes": hashes}]}


def _by_target(item: Mapping[str, Any]) -> tuple[str, int]:
    return item["record"]["target"], item["leaf_index"]
