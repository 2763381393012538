"""OSCAL documents: equal for equal reports, only pass is satisfied, and no invalid document is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from report_specimens import items, report_of

from sovctl.compliance.controls.framework import builtin_pack, load_pack, pack_names
from sovctl.compliance.oscal.components import has_component
from sovctl.compliance.oscal.names import control_token, line, uuid_of
from sovctl.compliance.oscal.package import OscalInvalid, build_package
from sovctl.compliance.oscal.package_index import property_of
from sovctl.compliance.report.publish import Published
from sovctl.engine.checks.registry import TOPICS


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    return report_of(tmp_path_factory.mktemp("state"))


def built(document: Any) -> dict[str, bytes]:
    def digest_of(href: str) -> str | None:
        return "a" * 64 if href == "../report.json" else href.removeprefix("../raw/")

    return build_package(document, report_sha256="a" * 64, digest_of=digest_of)


def test_equal_reports_give_equal_bytes_whatever_the_order_of_evidence(published: Published) -> None:
    document = json.loads((published.folder / "report.json").read_text())
    again = document | {"evidence": list(reversed(document["evidence"]))}
    assert built(document) == built(again)


def test_another_time_changes_only_declared_times_and_ids_of_documents(published: Published) -> None:
    document = json.loads((published.folder / "report.json").read_text())
    later = built(document | {"generated": "2026-11-22T08:00:00Z"})
    for name, data in built(document).items():
        found, other = (json.loads(each) for each in (data, later[name]))
        for root in (*found.values(), *other.values()):
            root.pop("uuid")
            root["metadata"].pop("last-modified")
        assert found == other, name


def test_only_pass_is_satisfied_and_every_state_is_stated(published: Published) -> None:
    results = json.loads((published.folder / "oscal" / "assessment-results.json").read_text())
    findings = results["assessment-results"]["results"][0]["findings"]
    assert len(findings) == published.document["summary"]["total"]
    states = {property_of(each, "state"): each["target"]["status"] for each in findings}
    assert states.keys() == {"pass", "fail", "error", "waived", "attested", "not-run"}
    assert states.pop("pass") == {"state": "satisfied", "reason": "pass"}
    assert {status["state"] for status in states.values()} == {"not-satisfied"}
    assert all(status["remarks"] for status in states.values())


def test_evidence_has_population_ledger_index_and_digest(published: Published) -> None:
    results = json.loads((published.folder / "oscal" / "assessment-results.json").read_text())
    observation = results["assessment-results"]["results"][0]["observations"][0]
    assert (property_of(observation, "population"), property_of(observation, "coverage")) == ("3", "3/3")
    evidence, record = observation["relevant-evidence"][0], published.document["evidence"][0]
    assert property_of(evidence, "ledger-index") == str(record["leaf_index"])
    assert property_of(evidence, "record-sha256") == record["sha256"]
    resources = {each["uuid"]: each for each in results["assessment-results"]["back-matter"]["resources"]}
    link = resources[evidence["href"].removeprefix("#")]["rlinks"][0]
    assert link["href"] == f"../raw/{record['record']['raw_sha256']}"


@pytest.mark.parametrize("name", pack_names())
def test_every_pack_gives_valid_documents(tmp_path: Path, name: str) -> None:
    pack = load_pack(builtin_pack(name))
    found = report_of(tmp_path, pack=pack, exceptions=None)
    assert (found.folder / "oscal" / "catalog.json").is_file()
    assert len({control_token(control.id) for control in pack.controls}) == len(pack.controls)


def test_a_report_without_open_findings_has_no_poam(tmp_path: Path) -> None:
    pack = load_pack(builtin_pack("residency-kz"))
    assert items(pack)
    found = report_of(tmp_path, pack=pack, bad={}, exceptions=None)
    open_states = {control["state"] for control in found.document["controls"]} & {"fail", "error", "waived"}
    names = {path.name for path in (found.folder / "oscal").iterdir()}
    assert ("plan-of-action-and-milestones.json" in names) == bool(open_states)


def test_an_invalid_document_is_refused(published: Published) -> None:
    document = json.loads((published.folder / "report.json").read_text())
    with pytest.raises(OscalInvalid, match="last-modified: expected a text like"):
        built(document | {"generated": "yesterday"})
    document["controls"][0]["state"] = "splendid"
    document["evidence"][0]["record"]["ended"] = "2026-11-29T00:00:00Z"
    with pytest.raises(OscalInvalid, match="after the end of the result"):
        built(document)


def test_every_topic_of_checks_belongs_to_a_component() -> None:
    assert [topic for topic in TOPICS if not has_component(f"{topic}.x")] == []


def test_names_are_stable_and_texts_are_single_lines() -> None:
    assert uuid_of("component", "gateway") == "b1cf457c-7b95-519f-8f89-86e2a032f22d"
    assert (control_token("164.306(a)"), control_token("ac-2.1"), control_token("1.1")) == (
        "_164.306.a",
        "ac-2.1",
        "_1.1",
    )
    assert line(" two\nlines\u2028here ") == "two lines here"
