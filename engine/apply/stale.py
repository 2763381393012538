"""Does a saved plan still hold? If anything that it rests on moved, it is made again, by a person who reads it."""

from __future__ import annotations

from datetime import datetime

from sovctl.support.errors import InputError, PlanStale

from ..plan import code_wheel
from ..plan.file import Plan
from ..resources.context import Context
from ..resources.resource import CREATED_BY_APPLY, Change
from ..site.site import Site, inputs_digest
from .journal import unfinished

MAX_AGE_S = 24 * 3600
"""A plan older than this is stale even when nothing seems to have moved; a choice of ours: one working day."""
CLOCK_SLACK_S = 60
"""How far a plan may come from the future, as when the clock was set a little meanwhile; a choice of ours."""
SHOWN = 5
"""Differences named in an error, at most."""


def check_bindings(site: Site, context: Context, plan: Plan, *, resume: bool, now: datetime) -> None:
    """What can be said without looking at a node.

    Raises:
        PlanStale: the plan was made from something else, by another sovctl, or too long ago.
        InputError: `--resume` without an unfinished apply, or an unfinished apply without it.
    """
    where = str(site.state.plan_file)
    again = "plan again: sovctl plan"
    if plan.spec_sha256 != site.loaded.spec_sha256:
        raise PlanStale(f"site.yaml changed after the plan of {plan.created} was made", where=where, hint=again)
    if plan.sovctl_version != code_wheel.version():
        made, here = plan.sovctl_version, code_wheel.version()
        raise PlanStale(f"expected a plan by sovctl {here}, got one by {made}", where=where, hint=again)
    if plan.inputs_sha256 != inputs_digest(context):
        raise PlanStale("a lock, the mirror's key or sovctl itself changed after the plan", where=where, hint=again)
    age_s = (now - datetime.fromisoformat(plan.created)).total_seconds()
    if age_s < -CLOCK_SLACK_S:
        hint = "set this machine's clock right, then plan again: sovctl plan"
        raise PlanStale(f"expected a plan from before now, got one of {plan.created}", where=where, hint=hint)
    if age_s > MAX_AGE_S:
        raise PlanStale(f"expected a plan of the last {MAX_AGE_S // 3600} h, got one of {plan.created}", hint=again)
    open_run = unfinished(site.state.journal)
    if open_run == plan.sha256 and not resume:
        raise InputError(
            "an apply of this plan began and did not finish",
            where=where,
            hint="go on with it: sovctl apply --resume; or plan again",
        )
    if resume and open_run != plan.sha256:
        raise InputError("expected an unfinished apply of this plan, found none", where=where, hint="sovctl apply")


def check_same(plan: Plan, current: list[Change], *, resume: bool) -> None:
    """What nodes say now must lead to exactly the planned changes; on `--resume`, to what is left of them.

    Raises:
        PlanStale: it does not.
    """
    planned = {change.id: change for change in plan.changes}
    now = {change.id: change for change in current}
    wrong = [f"{id_} (new)" for id_ in now if id_ not in planned]
    if not resume:
        wrong += [f"{id_} (gone)" for id_ in planned if id_ not in now]
        wrong += [id_ for id_, change in now.items() if id_ in planned and change != planned[id_]]
    else:
        wrong += [id_ for id_, change in now.items() if id_ in planned and not _still_wanted(planned[id_], change)]
    if wrong:
        shown = ", ".join(wrong[:SHOWN]) + (f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else "")
        raise PlanStale(
            f"the site is not as it was when the plan was made: {shown}",
            hint="nothing was changed; plan again: sovctl plan",
        )


def _still_wanted(planned: Change, current: Change) -> bool:
    """True when what is still different leads to what was planned; a half-done step may differ in fewer keys."""
    if planned.after is None or current.after is None:
        # A removal that was cut off has less left to remove.
        return planned.after is current.after
    return all(planned.after.get(key, value) in (value, CREATED_BY_APPLY) for key, value in current.after.items())
