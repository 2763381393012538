"""A failed verification of a tree is an input of the next plan, until another verification or an apply."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from example_sites import example

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.check import Judgement
from sovctl.engine.checks.model.probe import ProbeOutput
from sovctl.engine.checks.model.result import result_of, utc_now
from sovctl.engine.checks.model.target import CheckTarget
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.checks.runner.build_context import build_context
from sovctl.engine.checks.runner.run import RunResult
from sovctl.engine.checks.runner.targets import targets_of
from sovctl.engine.checks.runner.tree_findings import KINDS, store_findings
from sovctl.engine.resources.software import model
from sovctl.engine.resources.software.tree import TreeRecord
from sovctl.engine.site import tree_records
from sovctl.engine.site.site import Site

KEY = ("n1", "model/echo")
RECORD = TreeRecord("/srv/sovctl/models/echo", "ab" * 32)
FOUND = "expected model.safetensors with SHA-256 aa, got bb"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """The lab preset, whose model was applied."""
    made = example("lab", tmp_path / "site")
    made.state.prepare()
    tree_records.save(made.state.trees, {KEY: RECORD})
    return made


def target_of(site: Site, check: str, name: str) -> CheckTarget:
    targets = targets_of(build_context(site, today=date(2026, 11, 21)))
    return next(each for each in targets if (each.check.id, each.name) == (check, name))


def verified(site: Site, verdict: Verdict, *, check: str = "model.checksum", name: str = "n1/echo") -> None:
    """Store a run with one result."""
    target, output, now = target_of(site, check, name), ProbeOutput(0, "", ""), utc_now()
    judgement = Judgement(verdict, FOUND)
    result = result_of(target, "true", output, judgement, started=now, ended=now, simulated=False)
    store_findings(site, RunResult((target,), (result,), {}, interrupted=False))


def findings(site: Site) -> tuple[str, ...]:
    return tree_records.load(site.state.trees)[KEY].findings


def test_a_failed_verification_is_a_difference_of_the_next_plan(site: Site) -> None:
    node = site.spec.node("n1")
    verified(site, Verdict.FAIL)
    assert findings(site) == (FOUND,)
    [desired] = model.RESOURCE_TYPE.expect(site.context(), node, None)
    assert (desired.findings, (desired.state or {})["found_by_verify"]) == ((FOUND,), [])


def test_a_verification_that_passed_removes_the_finding(site: Site) -> None:
    verified(site, Verdict.FAIL)
    verified(site, Verdict.PASS)
    assert findings(site) == ()


def test_a_verification_without_a_measurement_keeps_the_finding(site: Site) -> None:
    verified(site, Verdict.FAIL)
    verified(site, Verdict.UNKNOWN)
    assert findings(site) == (FOUND,)


def test_an_apply_that_wrote_a_new_manifest_removes_the_finding(site: Site) -> None:
    verified(site, Verdict.FAIL)
    tree_records.save(site.state.trees, {KEY: RECORD})
    assert findings(site) == ()


def test_a_check_of_something_else_changes_no_record(site: Site) -> None:
    before = (site.state.trees / "n1.json").read_bytes()
    verified(site, Verdict.FAIL, check="access.ssh-keys-only", name="n1")
    assert (site.state.trees / "n1.json").read_bytes() == before


def test_a_tree_that_no_apply_recorded_has_no_finding(site: Site) -> None:
    verified(site, Verdict.FAIL, check="software.environment-files", name="s1/gateway")
    assert set(tree_records.load(site.state.trees)) == {KEY}


def test_the_checks_of_trees_exist() -> None:
    assert set(KINDS) <= set(BY_ID)
