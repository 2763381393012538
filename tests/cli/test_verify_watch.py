"""`sovctl verify --watch`: the first run is a table, later runs are changes, and nothing is stored."""

from __future__ import annotations

import json

import pytest

from sovctl.cli.commands.verify_watch import check_options
from sovctl.cli.views.verify_watch import Change, Verdicts, WatchView, changes
from sovctl.compliance.verdict import Verdict
from sovctl.support.errors import InputError

GOOD: Verdicts = {("n1", "gpu.ecc"): (Verdict.PASS, "fine"), ("n2", "gpu.ecc"): (Verdict.PASS, "fine")}


def test_a_changed_verdict_is_a_change_and_a_changed_reason_is_not() -> None:
    after = {**GOOD, ("n1", "gpu.ecc"): (Verdict.FAIL, "5 errors"), ("n2", "gpu.ecc"): (Verdict.PASS, "finer")}
    assert changes(GOOD, after, time="t") == [Change("t", "n1", "gpu.ecc", "PASS", "FAIL", "5 errors")]


def test_failures_precede_recoveries() -> None:
    before = {**GOOD, ("n1", "gpu.ecc"): (Verdict.FAIL, "x")}
    after = {**GOOD, ("n2", "gpu.ecc"): (Verdict.FAIL, "y")}
    assert [change.after for change in changes(before, after, time="t")] == ["FAIL", "PASS"]


def test_targets_that_appear_and_disappear_are_changes() -> None:
    only = {("n1", "gpu.ecc"): (Verdict.PASS, "fine")}
    assert [change.after for change in changes(GOOD, only, time="t")] == ["absent"]
    assert [change.before for change in changes(only, GOOD, time="t")] == ["absent"]


def test_the_first_run_is_a_table_and_later_runs_print_changes_only(capsys: pytest.CaptureFixture[str]) -> None:
    view = WatchView(every_s=5, as_json=False)
    view.show({**GOOD, ("n1", "gpu.ecc"): (Verdict.UNKNOWN, "ssh failed")}, time="t1")
    first = capsys.readouterr().out
    assert "1 UNKNOWN · 1 PASS" in first
    assert "ssh failed" in first
    view.show({**GOOD, ("n1", "gpu.ecc"): (Verdict.UNKNOWN, "ssh failed")}, time="t2")
    assert capsys.readouterr().out == ""
    view.show(GOOD, time="t3")
    assert capsys.readouterr().out == "t3  n1  gpu.ecc  UNKNOWN -> PASS: fine\n"


def test_json_has_one_line_per_run_with_blocking_verdicts_and_changes(capsys: pytest.CaptureFixture[str]) -> None:
    view = WatchView(every_s=5, as_json=True)
    view.show(GOOD, time="t1")
    view.show({**GOOD, ("n1", "gpu.ecc"): (Verdict.FAIL, "5 errors")}, time="t2")
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"time": "t1", "counts": {"PASS": 2}, "blocking": [], "changes": []}
    assert second["blocking"] == [{"target": "n1", "check": "gpu.ecc", "verdict": "FAIL", "reason": "5 errors"}]
    assert [change["before"] for change in second["changes"]] == ["PASS"]


@pytest.mark.parametrize(("level", "allowed"), [("full", []), ("burn-in", []), (None, ["chat"])])
def test_active_tests_are_not_repeated(level: str | None, allowed: list[str]) -> None:
    with pytest.raises(InputError, match="--watch"):
        check_options(level, allowed)


def test_quick_checks_are_repeated() -> None:
    check_options("quick", [])
    check_options(None, [])
