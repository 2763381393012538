"""Applies a plan wave by wave.

- The changes are computed again from new facts; they must equal those of the plan.
- A wave is complete if a new observation of its nodes shows no difference, and their checks pass. The result of
  Ansible is not sufficient.
- Replicas are drained on the gateways before their change. Floors and the failure budget hold over all waves.
- Each step is in the journal before it starts. The ledger protects the journal at start, waves and end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path

from sovctl.compliance.ledger.errors import LedgerUnwritable
from sovctl.support.errors import PlanStale

from ..facts.running import BOOT_ID
from ..plan.build import changes, unmanaged_things
from ..plan.scope import EVERYTHING
from ..plan.support import check_no_refusals, refusals
from ..site import members
from ..site.applied import Applied, keep, locks_of
from ..site.site import Site
from .availability.consent import check_consent
from .availability.gate import MakeGate
from .baseline import record_baselines, store_differences
from .journal import newest
from .node_lock.locks import NodeLocks
from .outcome import Outcome
from .progress import Progress, Report
from .reboots import NodesThatStart, interrupted, refuse_own_host
from .run_waves import Run, new_run_id, run_waves
from .stale import check_bindings, check_same, check_unmanaged


def apply(
    site: Site,
    *,
    shown_sha256: str,
    resume: bool = False,
    allow_downtime: Collection[str] = (),
    break_lock: bool = False,
    gate: MakeGate,
    report: Report,
    note: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Apply the saved plan of a site.

    Args:
        shown_sha256: digest of the plan that the operator confirmed; a different saved plan is rejected.
        allow_downtime: services that may go below their floor, see `availability.consent`.
        resume: continue an incomplete run with the changes that remain.
        break_lock: replace the locks of other controllers on nodes.
        gate: makes the gate, which runs checks between waves.
        report: called with progress.
        note: called with progress of the first observation.

    Raises:
        InputError: the plan has downtime without consent.
        PlanStale, PlanTampered: the plan does not apply any more; no node was changed.
        ApplyRefused: sovctl must not change a node; no node was changed.
        Busy: another process holds the site's lock, or another controller the lock of a node.
        ApplyFailed: a node failed; later waves were not started.
    """
    with site.state.exclusive("apply") as lock, contextlib.ExitStack() as stack:
        started = datetime.now(UTC)
        plan = site.saved_plan()
        if plan.sha256 != shown_sha256:
            raise PlanStale(
                f"expected plan {shown_sha256[:12]} that was shown, got {plan.sha256[:12]}: a new plan was saved since",
                where=str(site.state.plan_file),
                hint="no node was changed; review the new plan: sovctl apply",
            )
        check_consent(plan, allow_downtime)
        context = site.context()
        check_bindings(site, context, plan, resume=resume, now=started)
        run_id = new_run_id(plan.sha256, started)
        locks = NodeLocks(site, run_id, break_lock=break_lock)
        starting = NodesThatStart(
            interrupted(newest(site.state.journal)) if resume else frozenset(),
            report=lambda text: report(Progress("wait", "", text)),
        )
        # Before the observation, so that no other controller changes these nodes after it.
        starting.reach(
            lambda: stack.enter_context(
                locks.held({change.node for change in plan.changes if change.node in context.nodes})
            )
        )
        facts = starting.observe(lambda: site.observe(context, plan.facts_sha256, report=note))
        check_no_refusals(refusals(context, facts))
        current = changes(context, facts, scope=plan.scope)
        check_same(plan, current, resume=resume)
        refuse_own_host(current, facts, boot_id=Path(BOOT_ID).read_text().strip())
        check_unmanaged(site.spec, unmanaged_things(context, facts, current))
        members.register(
            site.state.root, members.load(site.state.root, site.state.applied), site.spec, plan.facts_sha256
        )
        store_differences(site, context, facts, current)
        run = Run(run_id, lock, locks, resume=resume, allow_downtime=allow_downtime)
        try:
            run_waves(site, plan, current, facts, run, gate=gate, report=report)
        except LedgerUnwritable as error:
            hint = "the apply stopped; free space on that disk, then: sovctl apply --resume"
            raise LedgerUnwritable(error.message, where=error.where, hint=hint) from None
        context = site.context()
        record_baselines(site, context, facts, report=report)
        if plan.scope == EVERYTHING and not plan.unknown:
            record = Applied(
                run_id,
                site.loaded.text_sha256,
                site.loaded.spec_sha256,
                plan.sha256,
                plan.sovctl_version,
                locks_of(context),
            )
            keep(site.state.applied, record, site.loaded.data)
        seconds = (datetime.now(UTC) - started).total_seconds()
        return Outcome(run_id, plan.sha256, len(current), seconds)
