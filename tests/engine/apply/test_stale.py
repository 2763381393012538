"""A plan that no longer holds is refused, and says why; what is left of an unfinished one is carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from example_sites import MakeSite
from planned_nodes import empty
from strategies import context

from sovctl.engine.apply.journal import Journal
from sovctl.engine.apply.run import apply
from sovctl.engine.apply.stale import UnmanagedThings, check_bindings, check_same, check_unmanaged
from sovctl.engine.checks.runner.gate import CheckGate
from sovctl.engine.plan import file
from sovctl.engine.plan.file import Plan
from sovctl.engine.plan.unmanaged import Unmanaged
from sovctl.engine.resources.resource import CREATED_BY_APPLY, Change, Risk, Verb
from sovctl.engine.site.site import Site
from sovctl.engine.spec import UnmanagedRule
from sovctl.support.errors import InputError, PlanStale

State = Mapping[str, Any] | None


def change(name: str, before: State, after: State, verb: Verb = Verb.UPDATE) -> Change:
    return Change("n1", "clock", name, verb, before, after, "why", Risk.NONE, 0.1)


def plan(*changes: Change) -> Plan:
    return Plan("lab", "2026-11-21T09:00:00Z", "0", "a", "b", {}, True, changes, ())


ONE = change("one", {"file": "old", "active": "inactive"}, {"file": "new", "active": "active"})
MADE = change("made", None, {"fingerprint": CREATED_BY_APPLY, "mode": "0600"}, Verb.CREATE)
AGAIN = change("again", {"runs": True}, {"runs": "after a restart"})
GONE = change("gone", {"files": ["/a", "/b"]}, None, Verb.DELETE)

# What nodes say now; whether `apply` goes on; whether `apply --resume` does.
CASES: dict[str, tuple[list[Change], bool, bool]] = {
    "nothing moved": ([ONE, MADE, GONE, AGAIN], True, True),
    "another order": ([AGAIN, GONE, MADE, ONE], True, True),
    "all is done": ([], False, True),
    "one is done": ([MADE, GONE], False, True),
    "one is half done": ([change("one", {"active": "inactive"}, {"active": "active"})], False, True),
    "one must start again": ([change("one", {"runs": False}, {"runs": True})], False, True),
    "a new one": ([ONE, MADE, GONE, AGAIN, change("new", {"x": 1}, {"x": 2})], False, False),
    "a planned restart is left": ([change("again", {"runs": False}, {"runs": True})], False, True),
    "another aim": ([change("one", {"file": "old"}, {"file": "newer"})], False, False),
    "another beginning": ([change("one", {"file": "x", "active": "no"}, ONE.after), MADE, GONE, AGAIN], False, True),
    "made meanwhile": ([change("made", None, {"fingerprint": "fp-1", "mode": "0600"}, Verb.CREATE)], False, True),
    "less to remove": ([change("gone", {"files": ["/b"]}, None, Verb.DELETE)], False, True),
    "wanted again": ([change("gone", {"files": ["/b"]}, {"files": []})], False, False),
    "unwanted meanwhile": ([change("one", {"file": "old"}, None, Verb.DELETE)], False, False),
}


def moved(current: list[Change], *, resume: bool) -> str:
    """What the refusal names; nothing when the plan holds."""
    try:
        check_same(plan(ONE, MADE, GONE, AGAIN), current, resume=resume)
    except PlanStale as error:
        return error.message.partition(": ")[2]
    return ""


@pytest.mark.parametrize("case", CASES)
def test_what_moved_since_the_plan_decides_whether_it_holds(case: str) -> None:
    current, applies, resumes = CASES[case]
    for resume, holds in ((False, applies), (True, resumes)):
        named = moved(current, resume=resume)
        assert named == "" if holds else named.startswith("n1/clock/")


def test_many_differences_are_counted_and_a_few_named() -> None:
    moved = [change(f"c{number}", {"x": 1}, {"x": 2}) for number in range(20)]
    with pytest.raises(PlanStale, match=r"c4 \(new\) and 15 more"):
        check_same(plan(), moved, resume=False)


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    return make_site("lab")


def made(site: Site) -> Plan:
    return site.plan(site.context(), {node.name: empty(node.name) for _, node in site.spec.nodes()})


def check(site: Site, bound: Plan, *, resume: bool = False, later: timedelta = timedelta()) -> None:
    check_bindings(site, site.context(), bound, resume=resume, now=datetime.now(UTC) + later)


def test_a_fresh_plan_holds(site: Site) -> None:
    check(site, made(site))


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("spec_sha256", "site.yaml changed"),
        ("inputs_sha256", "a lock, the mirror's key"),
        ("sovctl_version", "got one of"),
    ],
)
def test_a_plan_of_something_else_is_stale(site: Site, field: str, words: str) -> None:
    with pytest.raises(PlanStale, match=words):
        check(site, replace(made(site), **{field: "other"}))


def test_a_new_mirror_key_makes_a_plan_stale(site: Site) -> None:
    before = made(site)
    (site.folder / site.spec.artifacts.apt_key_file).write_text("another key\n")
    with pytest.raises(PlanStale):
        check(site, before)


def test_a_plan_of_yesterday_is_stale(site: Site) -> None:
    check(site, made(site), later=timedelta(hours=23))
    with pytest.raises(PlanStale, match="24 h"):
        check(site, made(site), later=timedelta(hours=25))


def test_a_plan_from_the_future_is_stale(site: Site) -> None:
    check(site, made(site), later=-timedelta(seconds=30))
    with pytest.raises(PlanStale, match="the plan is from the future"):
        check(site, made(site), later=-timedelta(hours=1))


def test_only_the_plan_that_was_shown_is_carried_out(site: Site) -> None:
    shown = made(site)
    file.write(replace(shown, created="2026-11-21T09:00:00Z"), site.state.plan_file, site.plan_key())
    with pytest.raises(PlanStale, match="a new plan was saved since"):
        apply(site, shown_sha256=shown.sha256, gate=partial(CheckGate, site), report=lambda _: None)
    assert not site.state.journal.exists()


def test_an_unfinished_apply_asks_for_resume_and_resume_for_an_unfinished_apply(site: Site) -> None:
    bound = made(site)
    with pytest.raises(InputError, match="no incomplete apply"):
        check(site, bound, resume=True)
    with Journal(site.state.journal, "r", bound.sha256) as journal:
        journal.write("started")
    with pytest.raises(InputError, match="is incomplete"):
        check(site, bound)
    check(site, bound, resume=True)


THINGS = [Unmanaged("n1", "file", f"/etc/{number}", "of no package") for number in range(7)]


def test_unmanaged_things_stop_an_apply_only_if_site_yaml_refuses_them() -> None:
    spec = context("lab").spec
    check_unmanaged(spec, THINGS)
    refusing = spec.model_copy(update={"unmanaged": UnmanagedRule.REFUSE})
    check_unmanaged(refusing, [])
    with pytest.raises(
        UnmanagedThings, match=r": 7 unmanaged things on nodes: n1/file//etc/0, .* and 2 more$"
    ) as error:
        check_unmanaged(refusing, THINGS)
    assert error.value.where == "site.yaml: unmanaged"
    assert "no node was changed" in str(error.value.hint)


def test_daemons_that_wait_for_the_planned_reboot_do_not_stop_a_resumption() -> None:
    """Killed between the packages of a driver and its reboot: the daemons do not fit the loaded module."""
    reboot = Change("n1", "reboot", "node", Verb.UPDATE, {"boot": "a"}, {"boot": "b"}, "why", Risk.NONE, 0.1)
    failed = Change("n1", "service", "x", Verb.UPDATE, {"active": "failed"}, {"active": "active"}, "w", Risk.NONE, 0.1)
    check_same(plan(reboot), [reboot, failed], resume=True)
    for current, resume in (([reboot, failed], False), ([failed], True), ([reboot, change("x", {}, {"y": 1})], True)):
        with pytest.raises(PlanStale):
            check_same(plan(reboot), current, resume=resume)
    elsewhere = Change(
        "n2", "service", "x", Verb.UPDATE, {"active": "failed"}, {"active": "active"}, "w", Risk.NONE, 0.1
    )
    with pytest.raises(PlanStale):
        check_same(plan(reboot), [reboot, elsewhere], resume=True)
