"""Limits of checks that site.yaml changes: stricter as they are, looser only with a waiver that each result names."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from check_cases.case import answer
from check_samples import SAMPLES
from check_sites import check_context

from sovctl.compliance.verdict import Verdict
from sovctl.engine.catalog.check_limits import load_check_limits
from sovctl.engine.catalog.platforms import CheckProfile
from sovctl.engine.checks.model.check import Judgement, SiteLimit, judge
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.checks.runner.targets import targets_of
from sovctl.engine.spec.verify import LimitWaiver, Verify

ENGINE = Path(__file__).resolve().parents[3] / "engine"
LEAST = "disk.free-space.least"
OF_ACTIVE_TESTS = {"hbm_bandwidth_min_mb_s", "targeted_stress_gflops"}
"""Figures of DCGM's tests, which no check reads yet."""
WAIVER = LimitWaiver(
    limit=LEAST,
    reason="old disks until spring",
    requested_by="A. Example",
    approved_by="B. Example",
    reference="CHG-1",
    expires="2026-12-31",
)


def free(percent: int, *limits: SiteLimit) -> Judgement:
    expected = replace(SAMPLES["disk.free-space"].expectation, limits=limits)
    return judge(BY_ID["disk.free-space"], answer({"space": f"/ 1000 {percent * 10} 100 90\n"}), expected)


def test_a_stricter_limit_fails_earlier() -> None:
    assert free(7).verdict is Verdict.PASS
    judgement = free(7, SiteLimit(LEAST, 10))
    assert judgement.verdict is Verdict.FAIL
    assert "expected at least 10 % free" in judgement.reason


def test_a_finding_that_only_a_waiver_accepts_warns_and_names_the_waiver() -> None:
    assert free(4).verdict is Verdict.FAIL
    judgement = free(4, SiteLimit(LEAST, 3, str(WAIVER)))
    assert judgement.verdict is Verdict.WARN
    assert "expected at least 5 % free" in judgement.reason
    assert "accepted by waiver CHG-1, approved by B. Example until 2026-12-31" in judgement.reason


def test_a_waiver_accepts_no_more_than_its_value_and_changes_no_healthy_result() -> None:
    assert free(2, SiteLimit(LEAST, 3, str(WAIVER))).verdict is Verdict.FAIL
    assert free(9, SiteLimit(LEAST, 3, str(WAIVER))).verdict is Verdict.PASS


def test_the_checks_of_a_site_have_its_limits() -> None:
    site = check_context("lab")
    verify = Verify(limits={LEAST: 3, "certificate.min-days": 14}, waivers=[WAIVER])
    spec = site.context.spec.model_copy(update={"verify": verify})
    targets = targets_of(replace(site, context=replace(site.context, spec=spec)))
    limits = {target.check.id: target.expectation.limits for target in targets}
    assert limits["disk.free-space"] == (SiteLimit(LEAST, 3, "CHG-1, approved by B. Example until 2026-12-31"),)
    assert limits["certificate.node-lasts"] == (SiteLimit("certificate.min-days", 14),)
    assert limits["disk.wear"] == ()


@pytest.mark.parametrize("name", sorted(load_check_limits()))
def test_a_check_reads_every_limit(name: str) -> None:
    quoted = f'"{name}"'
    assert any(quoted in file.read_text() for file in (ENGINE / "checks").rglob("*.py"))


def test_a_check_or_the_sizing_reads_every_figure_of_a_board() -> None:
    texts = [file.read_text() for file in ENGINE.rglob("*.py")]
    fields = CheckProfile.model_fields
    unread = {name for name in fields if not any(re.search(rf"\.{name}\b", text) for text in texts)}
    assert unread <= OF_ACTIVE_TESTS
