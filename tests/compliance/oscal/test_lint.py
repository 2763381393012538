"""The lint finds what schema validation misses, and nothing in a clean package."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_specimens import report_of

from sovctl.compliance.audit.oscal_documents import oscal_problems
from sovctl.compliance.oscal.lint import lint
from sovctl.compliance.oscal.schema import validate
from sovctl.compliance.report.publish import Published

AR, POAM, SSP, PLAN = (
    "assessment-results.json",
    "plan-of-action-and-milestones.json",
    "system-security-plan.json",
    "assessment-plan.json",
)
GONE = "11111111-1111-5111-8111-111111111111"
Package = dict[str, Any]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    return report_of(tmp_path_factory.mktemp("state"))


@pytest.fixture
def package(published: Published) -> Package:
    return {path.name: json.loads(path.read_text()) for path in (published.folder / "oscal").glob("*.json")}


def result_of(package: Package) -> Any:
    return package[AR]["assessment-results"]["results"][0]


def finding(package: Package, state: str) -> Any:
    for each in result_of(package)["findings"]:
        if {"state": state}.items() <= {prop["name"]: prop["value"] for prop in each["props"]}.items():
            return each
    raise AssertionError(f"no finding is {state}")


def waiver(package: Package) -> Any:
    return next(each for each in result_of(package)["risks"] if each["status"] == "deviation-approved")


def digests(folder: Path) -> Callable[[str], str | None]:
    from sovctl.compliance.audit.oscal_documents import _digest

    return lambda href: _digest(folder, href)


def test_a_clean_package_has_no_problem(published: Published, package: Package) -> None:
    assert {name: validate(value) for name, value in package.items()} == {name: [] for name in package}
    assert lint(package, digests(published.folder)) == []
    assert oscal_problems(published.folder, published.document) == (7, [])


def second_uuid(package: Package) -> None:
    first, second = result_of(package)["findings"][:2]
    second["uuid"] = first["uuid"]


def dangling_observation(package: Package) -> None:
    finding(package, "pass")["related-observations"][0]["observation-uuid"] = GONE


def unknown_control(package: Package) -> None:
    result_of(package)["reviewed-controls"]["control-selections"][0]["include-controls"][0]["control-id"] = "zz-99"


def unknown_statement(package: Package) -> None:
    finding(package, "not-run")["target"]["target-id"] = "zz-99_smt"


def ends_before_start(package: Package) -> None:
    result_of(package)["end"] = "2001-01-01T00:00:00Z"


def dangling_evidence(package: Package) -> None:
    result_of(package)["observations"][0]["relevant-evidence"][0]["href"] = f"#{GONE}"


def other_digest(package: Package) -> None:
    package[AR]["assessment-results"]["back-matter"]["resources"][1]["rlinks"][0]["hashes"][0]["value"] = "0" * 64


def no_digest(package: Package) -> None:
    del package[AR]["assessment-results"]["back-matter"]["resources"][1]["rlinks"][0]["hashes"]


def file_outside(package: Package) -> None:
    package[AR]["assessment-results"]["back-matter"]["resources"][1]["rlinks"][0]["href"] = "../../../etc/passwd"


def no_reason(package: Package) -> None:
    del finding(package, "not-run")["target"]["status"]["remarks"]


def not_run_is_satisfied(package: Package) -> None:
    finding(package, "not-run")["target"]["status"] = {"state": "satisfied", "reason": "pass"}


def pass_without_evidence(package: Package) -> None:
    del finding(package, "pass")["related-observations"]


def fail_without_observation(package: Package) -> None:
    del finding(package, "fail")["related-observations"]


def finding_deleted(package: Package) -> None:
    result_of(package)["findings"].remove(finding(package, "fail"))


def endless_waiver(package: Package) -> None:
    waiver_uuid = waiver(package)["uuid"]
    del waiver(package)["deadline"]
    for risk in package[POAM]["plan-of-action-and-milestones"]["risks"]:
        if risk["uuid"] == waiver_uuid:
            del risk["deadline"]


def waiver_without_item(package: Package) -> None:
    items = package[POAM]["plan-of-action-and-milestones"]["poam-items"]
    uuid = waiver(package)["uuid"]
    items[:] = [each for each in items if each["related-risks"][0]["risk-uuid"] != uuid]


def waived_without_risk(package: Package) -> None:
    del finding(package, "waived")["related-risks"]


def other_deadline_in_plan(package: Package) -> None:
    uuid = waiver(package)["uuid"]
    for risk in package[POAM]["plan-of-action-and-milestones"]["risks"]:
        if risk["uuid"] == uuid:
            risk["deadline"] = "2027-12-01T23:59:59Z"


def control_outside_profile(package: Package) -> None:
    package["profile.json"]["profile"]["imports"][0]["include-controls"][0]["with-ids"].remove("ac-2")


def observed_after_end(package: Package) -> None:
    result_of(package)["observations"][0]["collected"] = "2026-11-21T10:29:00Z"


def plan_is_absent(package: Package) -> None:
    del package[PLAN]


def wrong_kind(package: Package) -> None:
    party = package[AR]["assessment-results"]["metadata"]["parties"][0]["uuid"]
    finding(package, "fail")["related-observations"][0]["observation-uuid"] = party


def unknown_role(package: Package) -> None:
    package[SSP]["system-security-plan"]["system-implementation"]["users"][0]["role-ids"] = ["nobody"]


def component_in_no_document(package: Package) -> None:
    requirements = package[SSP]["system-security-plan"]["control-implementation"]["implemented-requirements"]
    next(each for each in requirements if "by-components" in each)["by-components"][0]["component-uuid"] = GONE


@pytest.mark.parametrize(
    ("plant", "message"),
    [
        (second_uuid, "is also that of"),
        (dangling_observation, "observation-uuid: expected the uuid of one of observations, none has it"),
        (unknown_control, "the catalog has no zz-99"),
        (unknown_statement, "the catalog has no zz-99_smt"),
        (ends_before_start, "is before start"),
        (dangling_evidence, "the document has no resource"),
        (other_digest, "with SHA-256 0000000000000000"),
        (no_digest, "has no SHA-256"),
        (file_outside, "no file ../../../etc/passwd"),
        (no_reason, "without a reason in words"),
        (not_run_is_satisfied, "satisfied, without an observation that has evidence"),
        (pass_without_evidence, "satisfied, without an observation that has evidence"),
        (fail_without_observation, "fail without an observation"),
        (finding_deleted, "expected one finding of"),
        (endless_waiver, "a waiver without a deadline"),
        (waiver_without_item, "no item of the plan of action and milestones refers to this waiver"),
        (waived_without_risk, "waived, without an approved risk"),
        (other_deadline_in_plan, "differs from"),
        (control_outside_profile, "the profile does not select ac-2"),
        (observed_after_end, "after the end of the result"),
        (plan_is_absent, "no document assessment-plan.json"),
        (wrong_kind, "expected the uuid of one of observations, got one of parties"),
        (unknown_role, "unknown role nobody"),
        (component_in_no_document, "component-uuid: expected the uuid of one of components"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_finds_a_planted_error_that_the_schema_accepts(
    published: Published, package: Package, plant: Callable[[Package], None], message: str
) -> None:
    plant(package)
    assert [each for value in package.values() for each in validate(value)] == []
    problems = lint(package, digests(published.folder))
    assert any(message in each for each in problems), problems[:5]


def test_the_schema_finds_an_unknown_key(package: Package) -> None:
    finding(package, "pass")["surprise"] = "x"
    assert any("surprise: unknown key" in each for each in validate(package[AR]))


def test_a_state_that_differs_from_the_report_is_found(published: Published) -> None:
    report = json.loads((published.folder / "report.json").read_text())
    report["controls"][0]["state"] = "pass"
    _, problems = oscal_problems(published.folder, report)
    assert problems == ["assessment-results.json: expected ac-1 to be pass as in the report, got not-run"]
