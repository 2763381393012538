"""Differences between reports: exactly the changed controls and results, and a refusal of unequal frameworks."""

from __future__ import annotations

import copy
from datetime import timedelta
from pathlib import Path

import pytest
from report_specimens import BAD, NOW, report_of

from sovctl.compliance.report.difference import difference
from sovctl.compliance.report.publish import Published
from sovctl.support.errors import InputError


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Published, Published]:
    state: Path = tmp_path_factory.mktemp("state")
    first = report_of(state)
    mended = {check: verdict for check, verdict in BAD.items() if check != "perimeter.no-way-out"}
    return first, report_of(state, bad=mended, run_id="20261121T111500Z-0002", now=NOW + timedelta(hours=1))


def test_a_report_does_not_differ_from_itself(reports: tuple[Published, Published]) -> None:
    assert difference(reports[0].document, reports[0].document).is_empty


def test_exactly_the_corrected_check_and_its_controls_changed(reports: tuple[Published, Published]) -> None:
    found = difference(*(each.document for each in reports))
    assert [each.as_json() for each in found.results] == [
        {
            "name": "perimeter.no-way-out on gpu-2",
            "kind": "changed",
            "before": "FAIL",
            "after": "PASS",
            "reasons": [],
        }
    ]
    checks = {each["id"]: each["mapping"]["checks"] for each in reports[0].document["controls"] if each["mapping"]}
    assert found.controls
    assert all("perimeter.no-way-out" in checks[each.name] for each in found.controls)
    assert {each.before for each in found.controls} == {"fail"}


def test_new_and_gone_things_are_named(reports: tuple[Published, Published]) -> None:
    before, after = (copy.deepcopy(dict(reports[0].document)) for _ in range(2))
    gone = before["controls"][0]["id"]
    after["controls"] = after["controls"][1:]
    before["evidence"] = before["evidence"][1:]
    found = difference(before, after)
    assert [(each.name, each.kind) for each in found.controls] == [(gone, "gone")]
    assert [each.kind for each in found.results] == ["new"]


def test_reports_of_two_frameworks_are_refused(reports: tuple[Published, Published]) -> None:
    other = copy.deepcopy(dict(reports[0].document))
    other["pack"]["name"] = "gdpr"
    with pytest.raises(InputError, match="expected two reports of one framework"):
        difference(reports[0].document, other)
    with pytest.raises(InputError, match="expected a report of format"):
        difference({}, other)
