"""The plan of action: one row for each open finding, a deadline that no new run postpones, and an owner or MISSING."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest
from evidence_specimens import NODES, control_map, everywhere, made, stored

from sovctl.compliance.controls.assessment import assess
from sovctl.compliance.controls.deadlines import DEADLINES, days_of
from sovctl.compliance.controls.exceptions import Exceptions, Waiver
from sovctl.compliance.controls.framework import Control, Pack
from sovctl.compliance.controls.poam import (
    MISSING_OWNER,
    CheckFacts,
    Deviation,
    PoamItem,
    PoamKind,
    Terms,
    plan_of_action,
)
from sovctl.compliance.evidence.history import History, run_day
from sovctl.engine.checks.model.check import Severity

TODAY = date(2026, 11, 21)
MAP = control_map("disk.encrypted", "clock.synchronized")
PACK = Pack(
    name="p",
    title="t",
    source="s",
    licence="l",
    controls=(
        Control(id="a-1", title="One", family="A", mapping=MAP),
        Control(id="a-2", title="Two", family="A", mapping=control_map("disk.encrypted")),
    ),
)
FACTS = {
    "disk.encrypted": CheckFacts("disks are encrypted", "critical", "encrypt it"),
    "clock.synchronized": CheckFacts("clocks agree", "medium", "start chrony"),
}
TERMS = Terms(facts=FACTS, owners={"disk.*": "storage team", "*": "platform team"})
CLOCK = everywhere("clock.synchronized")
FAILED = [made("disk.encrypted", node, "FAIL" if node != "services" else "PASS", others=NODES) for node in NODES]
WAIVER = Waiver(
    id="W-1",
    control="a-1",
    check="disk.encrypted",
    targets=("gpu-1",),
    reason="old node",
    compensating="locked room",
    requested_by="first person",
    approved_by="second person",
    approved=date(2026, 11, 1),
    expires=date(2026, 12, 1),
)


def rows(
    items: list[Any], terms: Terms = TERMS, *, on: date = TODAY, waivers: tuple[Waiver, ...] = ()
) -> list[PoamItem]:
    assessment = assess(PACK, stored(items), on=on, exceptions=Exceptions(waivers=waivers))
    return list(plan_of_action([assessment], on=on, terms=terms))


def test_one_row_for_a_failed_check_however_many_controls_it_affects() -> None:
    (row,) = rows(FAILED + CLOCK)
    assert (row.kind, row.targets, row.controls) == (
        PoamKind.FINDING,
        ("gpu-1", "gpu-2"),
        (("p", "a-1"), ("p", "a-2")),
    )
    assert (row.owner, row.severity, row.deadline) == ("storage team", "critical", date(2026, 12, 6))
    assert not row.is_overdue
    assert len(row.evidence) == 2


def test_without_findings_the_plan_is_empty() -> None:
    assert rows(everywhere("disk.encrypted") + CLOCK) == []


def test_a_second_run_does_not_postpone_the_deadline() -> None:
    key = ("disk.encrypted", "gpu-1")
    (row,) = rows(FAILED + CLOCK, Terms(FACTS, first_failed={key: date(2026, 10, 1)}))
    assert (row.detected, row.deadline, row.is_overdue) == (date(2026, 10, 1), date(2026, 10, 16), True)


def test_a_waived_target_has_a_row_of_its_own_until_the_waiver_ends() -> None:
    found = {row.kind: row for row in rows(FAILED + CLOCK, waivers=(WAIVER,))}
    waived, finding = found[PoamKind.WAIVED], found[PoamKind.FINDING]
    assert (waived.targets, waived.deadline, waived.approved_by) == (("gpu-1",), date(2026, 12, 1), "second person")
    assert finding.targets == ("gpu-2",)
    assert [row.targets for row in rows(FAILED + CLOCK, on=date(2026, 12, 2), waivers=(WAIVER,))] == [
        ("gpu-1", "gpu-2")
    ]


def test_unknown_missing_and_never_run_checks_are_rows() -> None:
    unknown = [made("disk.encrypted", "gpu-1", "UNKNOWN", others=NODES)]
    by_check = {row.check: row for row in rows(unknown)}
    row = by_check["disk.encrypted"]
    assert (row.kind, row.targets) == (PoamKind.UNMEASURED, ("gpu-1", "gpu-2", "services"))
    assert "services: no record" in row.reasons
    assert by_check["clock.synchronized"].reasons == ("the check was never run",)
    assert rows([]) == []  # no evidence: the control is not-run, which the coverage states


def test_expired_evidence_is_a_row_with_its_record() -> None:
    items = [made("disk.encrypted", node, others=NODES, expires="2026-11-21T11:00:00Z") for node in NODES]
    assessment = assess(PACK, stored(items + CLOCK), on=TODAY, at=datetime(2026, 11, 21, 12, tzinfo=UTC))
    (row,) = plan_of_action([assessment], on=TODAY, terms=TERMS)
    assert row.reasons[0] == "gpu-1: evidence expired at 2026-11-21T11:00:00Z"
    assert len(row.evidence) == 3


def test_an_owner_that_no_pattern_names_is_missing_and_an_unknown_check_is_critical() -> None:
    (row,) = rows(FAILED + CLOCK, Terms(owners={"clock.*": "someone"}))
    assert (row.owner, row.severity) == (MISSING_OWNER, "critical")
    assert Terms(owners={"a.b": "exact", "a.*": "topic"}).owner_of("a.b") == "exact"


def test_deviations_of_the_site_are_rows_and_become_overdue() -> None:
    deviation = Deviation("verify.waivers: x", "limit x is 3", "old disks", "A", "B", date(2026, 11, 20))
    (row,) = rows(everywhere("disk.encrypted") + CLOCK, Terms(FACTS, deviations=(deviation,)))
    assert (row.kind, row.is_overdue, row.deadline) == (PoamKind.DEVIATION, True, date(2026, 11, 20))


def test_ids_are_stable_and_rows_are_plain_json() -> None:
    first, later = rows(FAILED + CLOCK), rows(FAILED + CLOCK, on=date(2026, 11, 25))
    assert [row.id for row in first] == [row.id for row in later]
    assert json.loads(json.dumps(first[0].as_json()))["controls"][0] == {"pack": "p", "control": "a-1"}


def test_every_severity_has_a_deadline_and_a_site_can_only_shorten_it() -> None:
    assert set(DEADLINES) == {each.value for each in Severity}
    assert days_of("high", {"high": 10}) == 10
    assert days_of("high", {"high": 300}) == 30


def leaf(day: str, verdict: str, run: str = "") -> dict[str, str]:
    return {"check_id": "a.b", "target": "n", "verdict": verdict, "run_id": run or f"{day}T000000Z-0001"}


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [
        ([leaf("20261101", "FAIL"), leaf("20261102", "FAIL")], date(2026, 11, 1)),
        ([leaf("20261101", "FAIL"), leaf("20261102", "UNKNOWN"), leaf("20261103", "FAIL")], date(2026, 11, 1)),
        ([leaf("20261101", "FAIL"), leaf("20261102", "PASS"), leaf("20261103", "FAIL")], date(2026, 11, 3)),
        ([leaf("20261101", "FAIL"), leaf("20261102", "WARN")], None),
        ([leaf("", "FAIL", "gate-20261105T000000Z-0001")], date(2026, 11, 5)),
        ([leaf("", "FAIL", "own-name")], None),
    ],
)
def test_a_failure_begins_with_the_first_bad_verdict_since_the_last_good_one(
    leaves: list[dict[str, str]], expected: date | None
) -> None:
    assert History.of(leaves).first_failed.get(("a.b", "n")) == expected


def test_an_impossible_day_in_a_run_id_is_no_day() -> None:
    assert run_day("20261399T000000Z-0001") is None
