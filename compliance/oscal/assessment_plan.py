"""The checks of a run as an OSCAL assessment plan: activities, subjects, tool and the run itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .metadata import ASSESSMENT_PLAN, SSP, TOOL, evidence_by_check, metadata, targets
from .names import line, present, prop, select, uuid_of
from .references import Document, scope, target_uuid

_ALL = {"type": "inventory-item", "include-all": {}}


def assessment_plan(document: Document) -> dict[str, Any]:
    """Return the assessment plan. Checks without evidence are activities too, because they were due."""
    evidence = evidence_by_check(document)
    controls = controls_by_check(document)
    checks = sorted(controls.keys() | evidence.keys())
    run = document["run"]["id"]
    return {
        "assessment-plan": {
            "uuid": uuid_of(ASSESSMENT_PLAN, *scope(document), run),
            "metadata": metadata(document, "Assessment plan"),
            "import-ssp": {"href": SSP},
            **present(
                local_definitions=present(
                    activities=[_activity(each, evidence.get(each, []), controls.get(each, [])) for each in checks]
                )
            ),
            "reviewed-controls": reviewed_controls(document),
            "assessment-subjects": [_subjects(document)],
            "assessment-assets": {"components": [tool(document)], "assessment-platforms": _platforms(document)},
            **present(tasks=[_run_task(document, checks)] if checks else []),
        }
    }


def controls_by_check(document: Document) -> dict[str, list[str]]:
    """Return the ids of the controls of each mapped check."""
    found: dict[str, list[str]] = {}
    for control in document["controls"]:
        for check in control["mapping"]["checks"] if control["mapping"] else []:
            found.setdefault(check, []).append(control["id"])
    return found


def reviewed_controls(document: Document) -> dict[str, Any]:
    """Return the selection of all controls: a control without a check has a finding `not-run`."""
    return {"control-selections": [{"include-controls": select(each["id"] for each in document["controls"])}]}


def activity_uuid(check: str) -> str:
    """Return the UUID of a check."""
    return uuid_of("activity", check)


def tool(document: Document) -> dict[str, Any]:
    """Return sovctl as a component."""
    return {
        "uuid": TOOL,
        "type": "software",
        "title": "sovctl",
        "description": "Runs the checks and records their evidence.",
        "props": [{"name": "version", "value": line(document["tool_version"])}],
        "status": {"state": "operational"},
    }


def _activity(check: str, items: Sequence[Mapping[str, Any]], controls: Sequence[str]) -> dict[str, Any]:
    record = items[0]["record"] if items else None
    commands = sorted({each["record"]["command"] for each in items} - {""})
    steps = [
        {"uuid": uuid_of("step", check, command), "title": "Command", "description": line(command)}
        for command in commands
    ]
    return present(
        uuid=activity_uuid(check),
        title=line(record["title"] if record else check),
        description=line(f"Check {check}" + ("" if record else ", without evidence in this run")),
        props=[
            {"name": "method", "value": record["method"] if record else "TEST"},
            prop("check", check),
            *([prop("check-version", record["check_version"])] if record else []),
        ],
        steps=steps,
        related_controls={"control-selections": [{"include-controls": select(controls)}]} if controls else None,
    )


def _subjects(document: Document) -> dict[str, Any]:
    found = [{"subject-uuid": target_uuid(document, each), "type": "inventory-item"} for each in targets(document)]
    return {"type": "inventory-item", "include-subjects": found} if found else _ALL


def _platforms(document: Document) -> list[dict[str, Any]]:
    actors = document["run"]["actors"] or ["none"]
    return [
        {"uuid": uuid_of("platform", each), "title": line(each), "uses-components": [{"component-uuid": TOOL}]}
        for each in actors
    ]


def _run_task(document: Document, checks: Sequence[str]) -> dict[str, Any]:
    run = document["run"]
    timing = {"within-date-range": {"start": run["started"], "end": run["ended"]}} if run["started"] else None
    return present(
        uuid=uuid_of("task", *scope(document), run["id"]),
        type="action",
        title=line(f"Run {run['id']}"),
        timing=timing,
        associated_activities=[{"activity-uuid": activity_uuid(each), "subjects": [_ALL]} for each in checks],
    )
