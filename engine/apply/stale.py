"""Checks whether a saved plan is still valid. The operator must create and review a new plan if an input changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sovctl.support.errors import InputError, PlanStale, SovctlError

from ..plan import code_wheel
from ..plan.build import RESTARTED
from ..plan.file import Plan
from ..plan.unmanaged import Unmanaged
from ..resources.context import Context
from ..resources.resource import CREATED_BY_APPLY, Change
from ..site.site import Site, inputs_digest
from ..spec import SiteSpec, UnmanagedRule
from .journal import unfinished


class UnmanagedThings(SovctlError):
    """Nodes have unmanaged things, which site.yaml refuses."""


MAX_AGE_S = 24 * 3600
"""Maximum age of a plan, seconds: one day."""
CLOCK_SLACK_S = 60
"""Maximum time of a plan in the future, seconds; the clock may have been corrected after it."""
SHOWN = 5
"""Maximum number of differences in an error message."""


def check_bindings(site: Site, context: Context, plan: Plan, *, resume: bool, now: datetime) -> None:
    """Check the inputs and the age of a plan, without access to nodes.

    Raises:
        PlanStale: the plan has other inputs, is from another version of sovctl, or is too old.
        InputError: `--resume` without an incomplete apply, or an incomplete apply without `--resume`.
    """
    where = str(site.state.plan_file)
    again = "plan again: sovctl plan"
    if plan.spec_sha256 != site.loaded.spec_sha256:
        raise PlanStale(f"site.yaml changed after the plan of {plan.created} was made", where=where, hint=again)
    if plan.sovctl_version != code_wheel.version():
        made, here = plan.sovctl_version, code_wheel.version()
        raise PlanStale(f"expected a plan of sovctl {here}, got one of {made}", where=where, hint=again)
    if plan.inputs_sha256 != inputs_digest(context):
        raise PlanStale(
            "a lock, the mirror's key, a credential or sovctl changed after the plan was made", where=where, hint=again
        )
    age_s = (now - datetime.fromisoformat(plan.created)).total_seconds()
    if age_s < -CLOCK_SLACK_S:
        hint = "correct this machine's clock, then plan again: sovctl plan"
        raise PlanStale(f"the plan is from the future: {plan.created}", where=where, hint=hint)
    if age_s > MAX_AGE_S:
        raise PlanStale(f"the plan is older than {MAX_AGE_S // 3600} h: {plan.created}", hint=again)
    open_run = unfinished(site.state.journal)
    if open_run == plan.sha256 and not resume:
        raise InputError(
            "an apply of this plan is incomplete",
            where=where,
            hint="continue it: sovctl apply --resume; or plan again",
        )
    if resume and open_run != plan.sha256:
        raise InputError("no incomplete apply of this plan", where=where, hint="sovctl apply")


DOWN_UNTIL_REBOOT = frozenset({"service", "gpu_modes"})
"""Resource types that differ until a planned reboot loads the new module of the driver."""


def check_same(plan: Plan, current: list[Change], *, resume: bool) -> None:
    """Check that the current changes equal the planned ones, or with `resume` are part of them.

    Raises:
        PlanStale: they differ.
    """
    planned = {change.id: change for change in plan.changes}
    now = {change.id: change for change in current}
    # Between the packages of a driver and the planned reboot, the loaded module stops the daemons of the new version.
    waiting = (
        {change.node for change in current if change.kind == "reboot" and change.id in planned} if resume else set()
    )
    wrong = [
        f"{id_} (new)"
        for id_, change in now.items()
        if id_ not in planned and not (change.node in waiting and change.kind in DOWN_UNTIL_REBOOT)
    ]
    if not resume:
        wrong += [f"{id_} (gone)" for id_ in planned if id_ not in now]
        wrong += [id_ for id_, change in now.items() if id_ in planned and change != planned[id_]]
    else:
        wrong += [id_ for id_, change in now.items() if id_ in planned and not _still_wanted(planned[id_], change)]
    if wrong:
        shown = ", ".join(wrong[:SHOWN]) + (f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else "")
        raise PlanStale(
            f"the site changed after the plan was made: {shown}",
            hint="no node was changed; plan again: sovctl plan",
        )


def _still_wanted(planned: Change, current: Change) -> bool:
    """Return whether a remaining change leads to the planned state. After a partial step it may have fewer keys."""
    if planned.after is None or current.after is None:
        # An interrupted removal has fewer files to remove.
        return planned.after is current.after
    placeholders = (CREATED_BY_APPLY, *RESTARTED.values())
    return all(planned.after.get(key, value) in (value, *placeholders) for key, value in current.after.items())


def check_unmanaged(spec: SiteSpec, found: Sequence[Unmanaged]) -> None:
    """Check that the nodes have no unmanaged things if site.yaml refuses them.

    Raises:
        UnmanagedThings: they have.
    """
    if spec.unmanaged is UnmanagedRule.REFUSE and found:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise UnmanagedThings(
            f"{len(found)} unmanaged things on nodes: {', '.join(each.id for each in found[:SHOWN])}{more}",
            where="site.yaml: unmanaged",
            hint="no node was changed; remove them, or list accepted ones in unmanaged_allowed: sovctl plan",
        )
