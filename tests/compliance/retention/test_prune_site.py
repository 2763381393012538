"""Retention of a site: whole runs, reports and journals go with their entries, and the audit has no finding."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench.tampering.site import Site, build, open_ledger
from sovctl.compliance.audit import command
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.retention.prune_site import PlannedPruning, SiteFolders, plan_pruning, prune_site


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return build(tmp_path_factory.mktemp("site"))


@pytest.fixture
def state(original: Site, tmp_path: Path) -> Path:
    """The finished site, with enough later entries that its first runs are in whole tiles."""
    state = original.copy(tmp_path / "state")
    with open_ledger(state) as ledger:
        later = f"{datetime.now(UTC) + timedelta(days=300):%Y-%m-%dT%H:%M:%SZ}"
        ledger.append([{"type": "node-event", "time": later, "number": number} for number in range(600)])
    return state


def folders(state: Path) -> SiteFolders:
    return SiteFolders(state / "evidence", state / "reports", state / "journal")


def planned(state: Path, days: int = 365, after_days: int = 0) -> PlannedPruning:
    now = datetime.now(UTC) + timedelta(days=after_days)
    return plan_pruning(LedgerReader(state / "ledger"), folders(state), days=days, now=now)


def test_nothing_is_pruned_within_the_retention(state: Path) -> None:
    plan = planned(state)
    assert (plan.size, plan.files) == (0, 0)


@pytest.mark.parametrize("is_archived", [False, True])
def test_old_runs_reports_and_journals_go_and_the_audit_is_whole(
    original: Site, state: Path, tmp_path: Path, is_archived: bool
) -> None:
    plan = planned(state, after_days=400)
    assert (plan.size, len(plan.runs), len(plan.reports), len(plan.journals)) == (343, 1, 1, 2)
    with open_ledger(state) as ledger:
        prune_site(ledger, folders(state), plan, archive=tmp_path / "archive" if is_archived else None)
    result = command.verify(
        state, key=original.log_key, checkpoints=[original.checkpoint], witness_keys=[original.witness_key]
    )
    assert [str(each) for each in result.findings] == []
    assert result.verdict == "ok"
    assert list((state / "journal").iterdir()) == []
    assert len(list((state / "evidence" / "runs").iterdir())) == 1  # its entries have no time
    assert len(list((tmp_path / "archive").rglob("*.jsonl"))) == (2 if is_archived else 0)
    *_, last = LedgerReader(state / "ledger").entries()
    assert (last.record["type"], last.record["retention_days"]) == ("pruned", 365)


def test_a_boundary_never_splits_a_run(original: Site, tmp_path: Path) -> None:
    state = original.copy(tmp_path / "state")
    with open_ledger(state) as ledger:  # a further entry of the first run of an apply
        run = next((state / "journal").iterdir()).stem
        later = f"{datetime.now(UTC) + timedelta(days=300):%Y-%m-%dT%H:%M:%SZ}"
        ledger.append([{"type": "apply-failed", "time": later, "run": run, "journal_sha256": "0" * 64}])
    plan = planned(state, after_days=400)
    assert run not in plan.journals
    kept = [entry.record for entry in LedgerReader(state / "ledger").entries(start=plan.size)]
    used = {record.get("run_id") for record in kept} | {record.get("run") for record in kept}
    assert not used & {*plan.runs, *plan.journals}


def test_a_crash_before_the_content_is_removed_is_repaired_by_the_next_call(state: Path) -> None:
    plan = planned(state, after_days=400)
    with open_ledger(state) as ledger:
        ledger.append([{"type": "pruned", "size": plan.size}])
    for each in plan.journals:
        (state / "journal" / f"{each}.jsonl").unlink()
    again = planned(state, after_days=400)
    assert again.size == plan.size
    with open_ledger(state) as ledger:
        prune_site(ledger, folders(state), again)
    assert command.verify(state).findings == []
    assert json.loads((state / "ledger" / "pruned").read_text())["size"] == plan.size
