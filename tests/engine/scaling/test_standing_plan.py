"""A standing plan is in effect with two valid signatures, until its last day, while site.yaml gives the same terms."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from scaled_sites import write_site
from standing_site import LAST_DAY, NOW, approved_site, new_site, records

from sovctl.compliance.signing import SigningKey
from sovctl.engine.scaling.rules import calendar_of, rules_of
from sovctl.engine.site.site import Site
from sovctl.engine.standing_plan import plan_file
from sovctl.engine.standing_plan.requests import approve, request, revoke
from sovctl.engine.standing_plan.run import plan_in_effect
from sovctl.engine.standing_plan.terms import calendar, rules, terms_of
from sovctl.support.errors import InputError, PlanStale


def test_terms_give_the_rules_and_the_calendar_of_the_site_again(tmp_path: Path) -> None:
    site = new_site(tmp_path, SigningKey.generate())
    terms = terms_of(site.spec, site.loaded.catalog)
    assert rules(terms) == rules_of(site.spec, site.loaded.catalog)
    assert calendar(terms) == calendar_of(site.spec, site.loaded.catalog)


def test_request_and_approval_are_records_and_put_the_plan_in_effect(tmp_path: Path) -> None:
    site = approved_site(tmp_path)
    plan = plan_in_effect(site, NOW)
    kinds = [(each["type"], each["plan_sha256"]) for each in records(site)]
    assert kinds == [("standing-plan", plan.sha256), ("standing-plan-approved", plan.sha256)]
    assert (site.state.root / plan_file.FILE).stat().st_mode & 0o777 == 0o600


def test_a_plan_expires_after_its_last_day(tmp_path: Path) -> None:
    site = approved_site(tmp_path)
    plan_in_effect(site, NOW.replace(month=12, day=31, hour=23))
    with pytest.raises(PlanStale, match="expired after 2026-12-31"):
        plan_in_effect(site, NOW.replace(year=2027, month=1, day=1, hour=0))


def test_a_changed_site_needs_a_new_plan(tmp_path: Path) -> None:
    site = approved_site(tmp_path)
    assert site.spec.scaling is not None
    write_site(tmp_path, approvers=site.spec.scaling.approvers, window_s=120)
    with pytest.raises(PlanStale, match="window_s"):
        plan_in_effect(Site.open(tmp_path / "site.yaml", touches_nodes=False), NOW)


def test_an_approver_that_site_yaml_no_longer_lists_does_not_count(tmp_path: Path) -> None:
    approved_site(tmp_path)
    write_site(tmp_path, approvers=[SigningKey.generate().public.vkey("other.example")])
    with pytest.raises(PlanStale, match="does not list"):
        plan_in_effect(Site.open(tmp_path / "site.yaml", touches_nodes=False), NOW)


def test_only_another_listed_key_approves(tmp_path: Path) -> None:
    officer, other = SigningKey.generate(), SigningKey.generate()
    site = new_site(tmp_path, officer)
    with pytest.raises(InputError, match="no standing plan"):
        approve(site, key=officer, now=NOW)
    request(site, expires=LAST_DAY, key=officer, name="officer.example", now=NOW)
    with pytest.raises(InputError, match="another person must approve"):
        approve(site, key=officer, now=NOW)
    with pytest.raises(InputError, match=r"not in scaling\.approvers"):
        approve(site, key=other, now=NOW)
    with pytest.raises(PlanStale, match="not approved"):
        plan_in_effect(site, NOW)


@pytest.mark.parametrize("field", ["expires", "terms", "request", "approval"])
def test_a_changed_field_voids_the_signatures(tmp_path: Path, field: str) -> None:
    site = approved_site(tmp_path)
    plan = plan_file.read(site.state.root)
    assert plan.approval is not None
    changed = {
        "expires": replace(plan, expires="2036-12-31"),
        "terms": replace(plan, terms={**plan.terms, "window_s": 15}),
        "request": replace(plan, request=replace(plan.request, time="2026-01-01T00:00:00Z")),
        "approval": replace(plan, approval=replace(plan.approval, sig=plan.request.sig)),
    }[field]
    plan_file.write(site.state.root, changed)
    with pytest.raises(PlanStale, match="a signature is invalid"):
        plan_in_effect(site, NOW)


@pytest.mark.parametrize("expires", [NOW.date() - timedelta(days=1), NOW.date() + timedelta(days=91), date(9999, 1, 1)])
def test_the_last_day_is_within_the_longest_duration(tmp_path: Path, expires: date) -> None:
    site = new_site(tmp_path, SigningKey.generate())
    with pytest.raises(InputError, match="expected a day from"):
        request(site, expires=expires, key=SigningKey.generate(), name="anna.example", now=NOW)
    assert not (site.state.root / plan_file.FILE).exists()


def test_a_revoked_plan_is_gone(tmp_path: Path) -> None:
    site = approved_site(tmp_path)
    revoke(site, reason="maintenance", now=NOW)
    assert records(site)[-1]["type"] == "standing-plan-revoked"
    with pytest.raises(InputError, match="no standing plan"):
        plan_in_effect(site, NOW)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"expires": "soon"}'])
def test_an_unreadable_plan_is_an_error(tmp_path: Path, text: str) -> None:
    site = approved_site(tmp_path)
    (site.state.root / plan_file.FILE).write_text(text)
    with pytest.raises(InputError, match="unreadable standing plan"):
        plan_in_effect(site, NOW)
