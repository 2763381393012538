"""The states of all controls and their evidence as OSCAL assessment results. Pure.

- Only the state `pass` is `satisfied`. All other states are `not-satisfied`, and have a reason in words.
- Every control of the pack has a finding. A finding without evidence states why.
- OSCAL has no fields for state, population, coverage, simulation and ledger index: they are namespaced properties.
- Each raw output is a resource with its SHA-256, at its place in the folder of the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..evidence.layout import declared_targets
from .assessment_plan import activity_uuid, reviewed_controls
from .foreign import foreign_components, foreign_observations, foreign_resources
from .metadata import (
    ASSESSMENT_PLAN,
    ASSESSMENT_RESULTS,
    SIMULATED,
    TOOL,
    evidence_by_check,
    file_resource,
    metadata,
)
from .names import line, present, prop, statement_token, uuid_of
from .references import (
    Document,
    Items,
    finding_uuid,
    observation_uuid,
    raw_uuid,
    related_observations,
    scope,
    target_uuid,
)
from .risks import risk_uuids, risks_of

SATISFIED = "pass"
_REASONS = {"pass": "pass", "fail": "fail"}
_MAX_REASONS = 20  # chosen; the report has all of them
_NOT_RUN = "not-run: no evidence; counts neither as passed nor as failed"


def assessment_results(document: Document, *, report_sha256: str) -> dict[str, Any]:
    """Return the assessment results.

    Args:
        report_sha256: digest of report.json, which has the records and their proofs.
    """
    run, evidence = document["run"], evidence_by_check(document)
    result = present(
        uuid=uuid_of("result", *scope(document), run["id"]),
        title=line(f"Run {run['id']}"),
        description=line(document["summary"]["sentence"]),
        start=run["started"] or document["generated"],
        end=run["ended"],
        props=_summary(document),
        reviewed_controls=reviewed_controls(document),
        local_definitions=present(components=foreign_components(document)),
        attestations=list(_attestations(document)),
        observations=[
            *(_observation(check, items, document) for check, items in evidence.items()),
            *foreign_observations(document),
        ],
        risks=[risk for control in document["controls"] for risk in risks_of(control, document, evidence)],
        findings=[_finding(control, document, evidence) for control in document["controls"]],
        remarks=SIMULATED if document["simulated"] else "",
    )
    return {
        "assessment-results": {
            "uuid": uuid_of(ASSESSMENT_RESULTS, *scope(document), run["id"], document["generated"]),
            "metadata": metadata(document, "Assessment results"),
            "import-ap": {"href": ASSESSMENT_PLAN},
            "results": [result],
            "back-matter": {
                "resources": [_report(report_sha256), *_raw_outputs(evidence), *foreign_resources(document)]
            },
        }
    }


def _summary(document: Document) -> list[dict[str, Any]]:
    summary, ledger = document["summary"], document["ledger"]
    states = [prop(f"controls-{state}", number) for state, number in sorted(summary["states"].items())]
    return [
        prop("controls", summary["total"]),
        prop("controls-decided", summary["decided"]),
        *states,
        prop("simulated", document["simulated"]),
        prop("ledger-origin", ledger["origin"]),
        prop("ledger-size", ledger["size"]),
        prop("ledger-root", ledger["root"]),
    ]


def _observation(check: str, items: Items, document: Document) -> dict[str, Any]:
    records = [item["record"] for item in items]
    population = sorted({target for record in records for target in declared_targets(document, record)})
    seen = {record["target"] for record in records}
    missing = [target for target in population if target not in seen]
    return present(
        uuid=observation_uuid(document, check),
        title=line(records[0]["title"]),
        description=line(f"Check {check} on {len(seen)} of {len(population)} targets."),
        props=[
            prop("check", check),
            prop("population", len(population)),
            prop("sample", len(seen)),
            prop("coverage", f"{len(seen)}/{len(population)}"),
            *(prop("missing-target", target) for target in missing),
            prop("simulated", any(record["simulated"] for record in records)),
            prop("activity", activity_uuid(check)),
        ],
        methods=sorted({record["method"] for record in records}),
        types=["control-objective"],
        origins=[{"actors": [{"type": "tool", "actor-uuid": TOOL}]}],
        subjects=[
            {"subject-uuid": target_uuid(document, target), "type": "inventory-item", "title": line(target)}
            for target in sorted(seen)
        ],
        relevant_evidence=[_evidence(item) for item in items],
        collected=max(record["ended"] for record in records),
        expires=min((record["expires"] for record in records if record.get("expires")), default=""),
    )


def _evidence(item: Mapping[str, Any]) -> dict[str, Any]:
    record = item["record"]
    return {
        "href": f"#{raw_uuid(record['raw_sha256'])}",
        "description": line(f"{record['target']}: {record['verdict']}: {record['reason']}"),
        "props": [
            prop("target", record["target"]),
            prop("verdict", record["verdict"]),
            prop("record-sha256", item["sha256"]),
            prop("raw-sha256", record["raw_sha256"]),
            prop("ledger-index", item["leaf_index"]),
            prop("simulated", record["simulated"]),
        ],
    }


def _finding(control: Mapping[str, Any], document: Document, evidence: Mapping[str, Items]) -> dict[str, Any]:
    checks = control["mapping"]["checks"] if control["mapping"] else []
    state = control["state"]
    with_evidence = [check for check in checks if check in evidence]
    return present(
        uuid=finding_uuid(document, control["id"]),
        title=line(f"{control['id']}: {state}"),
        description=line(control["title"]),
        props=[
            prop("state", state),
            prop("control", control["id"]),
            prop("checks", len(checks)),
            prop("coverage", f"{len(with_evidence)}/{len(checks)}"),
            prop("simulated", control["simulated"]),
        ],
        target={
            "type": "statement-id",
            "target-id": statement_token(control["id"]),
            "status": present(
                state="satisfied" if state == SATISFIED else "not-satisfied",
                reason=_REASONS.get(state, "other"),
                remarks="" if state == SATISFIED else line(_reason(control)),
            ),
        },
        related_observations=related_observations(checks, document, evidence),
        related_risks=[{"risk-uuid": each} for each in risk_uuids(control, document)],
    )


def _reason(control: Mapping[str, Any]) -> str:
    """Return the reason of a state other than pass."""
    attestation = control["attestation"]
    if attestation:
        return (
            f"attested: {attestation['statement']} (by {attestation['by']}, {attestation['attested']} to "
            f"{attestation['expires']}, no check)"
        )
    reasons = list(control["reasons"])
    if len(reasons) > _MAX_REASONS:
        reasons = [*reasons[:_MAX_REASONS], f"and {len(reasons) - _MAX_REASONS} more"]
    if reasons:
        return f"{control['state']}: {'; '.join(reasons)}"
    return _NOT_RUN if control["state"] == "not-run" else f"{control['state']}: every check reported this"


def _attestations(document: Document) -> Iterator[dict[str, Any]]:
    for control in document["controls"]:
        if each := control["attestation"]:
            part = {
                "name": "attestation",
                "title": line(control["id"]),
                "props": [prop(name, each[name]) for name in ("by", "attested", "expires")],
                "prose": line(each["statement"]),
            }
            yield {"parts": [part]}


def _report(sha256: str) -> dict[str, Any]:
    return file_resource(
        uuid_of("report", sha256), "Report with all records and proofs", "../report.json", sha256, "application/json"
    )


def _raw_outputs(evidence: Mapping[str, Items]) -> Iterator[dict[str, Any]]:
    for sha256 in sorted({item["record"]["raw_sha256"] for items in evidence.values() for item in items}):
        yield file_resource(raw_uuid(sha256), "Raw output", f"../raw/{sha256}", sha256, "text/plain")
