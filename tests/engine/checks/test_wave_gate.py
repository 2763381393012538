"""The gate of an apply requires checks for what changed, names checks that exist, and stores their results."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from sovctl.compliance.evidence.runs import list_runs, read_runs
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.checks.runner import gate
from sovctl.engine.checks.runner.gate import ALL, ATTEMPTS, CHECKS_OF, CheckGate, patterns_for
from sovctl.engine.site.site import Site


@pytest.mark.parametrize("pattern", sorted({*ALL, *(each for of in CHECKS_OF.values() for each in of)}))
def test_every_pattern_fits_a_check(pattern: str) -> None:
    assert any(fnmatchcase(check, pattern) for check in BY_ID)


def test_a_changed_type_requires_its_checks_once_and_an_unknown_type_all_of_them() -> None:
    assert patterns_for(["pool", "model"]) == CHECKS_OF["pool"]
    assert set(patterns_for(["pool", "reboot"])) == set(ALL)
    assert patterns_for(["clock"]) == ()


def test_every_attempt_is_stored_as_evidence_of_the_plan_and_no_report_is_made_of_it(
    quiet_site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "PAUSE_S", 0.0)
    site = Site.open(quiet_site, touches_nodes=True)
    key = load_or_create(site.state.prepare().keys / "ledger.key")
    with Ledger.open(site.state.ledger, origin="sovctl.x/site", key=key) as ledger:
        found = CheckGate(site, ledger, "ab" * 32, "r1").check({"a1": ["perimeter"]})
    assert "perimeter.default-drop UNKNOWN" in found.problems["a1"]
    assert len(found.evidence_runs) == ATTEMPTS
    stored = read_runs(site.state.evidence, LedgerReader(site.state.ledger))
    assert set(stored) == set(found.evidence_runs)
    for run in stored.values():
        assert run.problems == ()
        assert {each.evidence.verdict for each in run.records} == {Verdict.UNKNOWN}
        assert {(each.evidence.plan_sha256, each.evidence.apply_run) for each in run.records} == {("ab" * 32, "r1")}
    assert list_runs(site.state.evidence) == []
