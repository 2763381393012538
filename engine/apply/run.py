"""Applies a plan wave by wave.

- The changes are computed again from new facts; they must equal those of the plan.
- A wave is complete if a new observation of its nodes shows no difference. The result of Ansible is not sufficient.
- Each step is in the journal before it starts, and in the ledger after it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import PlanStale, SovctlError

from ..facts.node import NodeFacts
from ..plan import code_wheel
from ..plan.build import changes
from ..plan.file import Plan
from ..plan.waves import Wave
from ..resources.context import Context
from ..resources.resource import Change
from ..site.site import Site
from . import ansible
from .journal import Journal
from .roles import roles_for
from .stale import SHOWN, check_bindings, check_same


class ApplyFailed(SovctlError):
    """A node does not have its planned state. Later waves were not started."""


@dataclass(frozen=True)
class Progress:
    """Progress for the operator: a wave began, a role started on a node, or a wave was observed again."""

    kind: str
    """`wave`, `role`, `proven`."""
    node: str
    text: str


@dataclass(frozen=True)
class Outcome:
    """Result of a complete apply."""

    run_id: str
    plan_sha256: str
    done: int
    seconds: float


def apply(
    site: Site,
    *,
    shown_sha256: str,
    resume: bool = False,
    report: Callable[[Progress], None],
    note: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Apply the saved plan of a site.

    Args:
        shown_sha256: digest of the plan that the operator confirmed; a different saved plan is rejected.
        resume: continue an incomplete run with the changes that remain.
        report: called with progress.
        note: called with progress of the first observation.

    Raises:
        PlanStale, PlanTampered: the plan does not apply any more; no node was changed.
        Busy: another process holds the site's lock.
        ApplyFailed: a node failed; later waves were not started.
    """
    with site.state.exclusive("apply") as lock:
        started = datetime.now(UTC)
        plan = site.saved_plan()
        if plan.sha256 != shown_sha256:
            raise PlanStale(
                f"expected plan {shown_sha256[:12]} that was shown, got {plan.sha256[:12]}: a new plan was saved since",
                where=str(site.state.plan_file),
                hint="no node was changed; review the new plan: sovctl apply",
            )
        context = site.context()
        check_bindings(site, context, plan, resume=resume, now=started)
        facts = site.observe(context, report=note)
        current = changes(context, facts)
        check_same(plan, current, resume=resume)
        site.credentials.ensure(context)
        context = site.context()
        wheel = site.state.root / "code" / code_wheel.file_name()
        write_atomic(wheel, code_wheel.build())

        run_id = started.strftime("%Y%m%dT%H%M%SZ-") + plan.sha256[:8]
        key = load_or_create(site.state.keys / "ledger.key")
        origin = f"sovctl.{plan.site}/site"
        with (
            Journal(site.state.journal, run_id, plan.sha256) as journal,
            Ledger.open(site.state.ledger, origin=origin, key=key) as ledger,
        ):
            journal.write("started", changes=[change.id for change in current], resume=resume)
            ledger.append([_record("apply-started", plan, run_id, changes=len(current))])
            try:
                for wave in plan.waves:
                    _run_wave(site, context, wave, current, facts, str(wheel), journal, report, run_id, lock)
            except SovctlError as error:
                journal.write("failed", message=error.message)
                ledger.append([_record("apply-failed", plan, run_id)])
                raise
            except KeyboardInterrupt:
                journal.write("interrupted")
                raise
            journal.write("finished", done=len(current))
            ledger.append([_record("apply-finished", plan, run_id, changes=len(current))])
        seconds = (datetime.now(UTC) - started).total_seconds()
        return Outcome(run_id, plan.sha256, len(current), seconds)


def _run_wave(
    site: Site,
    context: Context,
    wave: Wave,
    current: list[Change],
    facts: Mapping[str, NodeFacts],
    wheel: str,
    journal: Journal,
    report: Callable[[Progress], None],
    run_id: str,
    lock: int,
) -> None:
    ids = {change.id for change in current if change.node in wave.nodes}
    roles = {node: items for node in wave.nodes if (items := roles_for(site, context, node, ids, facts[node], wheel))}
    if not roles:
        return
    report(Progress("wave", "", f"{wave.name}: {', '.join(roles)}"))
    journal.write("wave-started", wave=wave.name, nodes=list(roles), changes=sorted(ids))
    follow = _Follower(journal, report, roles)
    inventory = ansible.inventory(site.spec, site.folder, roles)
    failures = ansible.run(inventory, site.state.root / "run", lock=lock, on_event=follow)
    if failures:
        first = failures[0]
        raise ApplyFailed(
            f"{first.node}: role {first.role or '-'}, task {first.task!r}: {first.message or 'failed'}",
            hint=f"later waves were not started; fix the node, then: sovctl apply --resume (journal: {run_id})",
        )
    after = site.observe(context, roles, report=lambda _: None)
    left = [change for change in changes(context, {**facts, **after}) if change.node in roles]
    if left:
        names = ", ".join(f"{change.id} ({', '.join(change.after or ['still present'])})" for change in left[:SHOWN])
        raise ApplyFailed(
            f"{wave.name}: {len(left)} differences remain after the change: {names}",
            hint="show them: sovctl plan",
        )
    journal.write("wave-proven", wave=wave.name, nodes=list(roles))
    report(Progress("proven", "", f"{wave.name}: observed again, no difference left on {', '.join(roles)}"))


class _Follower:
    """Writes task events to the journal, and reports one line for each role and node."""

    def __init__(
        self,
        journal: Journal,
        report: Callable[[Progress], None],
        roles: Mapping[str, Mapping[str, ansible.RoleVariables]],
    ) -> None:
        self._journal, self._report = journal, report
        self._current: dict[str, str] = {}
        self._roles = roles

    def __call__(self, event: ansible.Event) -> None:
        if event.event in ("failed", "unreachable"):
            self._journal.write("task-failed", node=event.node, role=event.role, task=event.task)
            return
        before = self._current.get(event.node)
        if event.event == "start" and event.role and event.role != before:
            self._current[event.node] = event.role
            count = sum(map(len, self._roles[event.node].get(event.role, {}).values()))
            self._journal.write("role-started", node=event.node, role=event.role, items=count)
            self._report(Progress("role", event.node, f"{event.role} ({count})"))


def _record(kind: str, plan: Plan, run_id: str, **counts: int) -> dict[str, Any]:
    return {
        "type": kind,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "site": plan.site,
        "plan_sha256": plan.sha256,
        "run": run_id,
        "simulated": plan.simulated,
        **counts,
    }
