"""Runs the waves of a plan or of a remedy: journal, ledger records, executor, floors, drain and checks."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import SovctlError

from ..facts.node import NodeFacts
from ..plan import code_wheel
from ..plan.file import Plan
from ..plan.serving import Serving
from ..resources.resource import Change
from ..site.site import Site
from .availability.drain import REASON, GatewayDrainer
from .availability.gate import MakeGate
from .availability.rollout import Rollout
from .execution import AnsibleExecutor
from .journal import UNPROVEN, Journal, newest, newest_line, unproven
from .node_lock.locks import NodeLocks
from .outcome import ledger_record
from .progress import Follower, Report
from .wave import WaveRunner


@dataclass(frozen=True)
class Run:
    """One run.

    Args:
        run_id: also the name of its journal.
        lock: descriptor of the site's lock.
        locks: of the nodes, held.
        resume: continue an incomplete run.
        allow_downtime: services that may go below their floor.
    """

    run_id: str
    lock: int
    locks: NodeLocks
    resume: bool = False
    allow_downtime: Collection[str] = ()
    rechecks: bool = True
    """Whether nodes that an earlier run changed and did not prove are checked first."""


def new_run_id(plan_sha256: str, started: datetime) -> str:
    """Return the name of a run, which sorts by time. It has milliseconds, because a run can be resumed in a second."""
    return started.strftime("%Y%m%dT%H%M%S.") + f"{started.microsecond // 1000:03}Z-" + plan_sha256[:8]


def run_waves(
    site: Site,
    plan: Plan,
    current: Sequence[Change],
    facts: dict[str, NodeFacts],
    run: Run,
    *,
    gate: MakeGate,
    report: Report,
) -> None:
    """Carry out changes in the waves of a plan.

    Args:
        current: the changes, computed from `facts`.
        facts: of all nodes of the plan.

    Raises:
        ApplyFailed: a node failed; later waves were not started.
    """
    site.credentials.ensure(site.context())
    context = site.context()
    wheel = site.state.root / "code" / code_wheel.file_name()
    write_atomic(wheel, code_wheel.build())
    previous, due = newest_line(site.state.journal), unproven(newest(site.state.journal))
    due = {node: kinds for node, kinds in due.items() if node in context.nodes}
    key = load_or_create(site.state.keys / "ledger.key")
    with (
        Ledger.open(site.state.ledger, origin=f"sovctl.{plan.site}/site", key=key) as ledger,
        Journal(
            site.state.journal,
            run.run_id,
            plan.sha256,
            lambda kind, *line: ledger.append(
                [ledger_record(kind, plan, run.run_id, line, previous=previous, changes=len(current))]
            ),
        ) as journal,
    ):
        journal.write(
            "started", changes=[change.id for change in current], resume=run.resume, broken_locks=run.locks.broken
        )
        if due:
            journal.write(UNPROVEN, nodes=due)
        executor = AnsibleExecutor(
            site,
            context,
            facts,
            wheel=str(wheel),
            lock=run.lock,
            locks=run.locks,
            follow=Follower(journal, report),
            append=ledger.append,
        )
        serving = Serving(context)
        rollout = Rollout(serving, serving.now(facts), run.allow_downtime, site.spec.rollout.max_failed_nodes)
        drainer = GatewayDrainer(site, context, reason=f"{REASON} {run.run_id}")
        checks = gate(ledger, plan.sha256, run.run_id)
        runner = WaveRunner(context, current, facts, plan.scope, rollout, executor, drainer, checks, journal, report)
        runner.unproven = due if run.rechecks else {}
        try:
            runner.run_all(plan.waves)
        except SovctlError as error:
            with contextlib.suppress(SovctlError):  # such as a full disk, which may be the first error too
                journal.write("failed", message=error.message)
            raise
        except KeyboardInterrupt:
            with contextlib.suppress(SovctlError):
                journal.write("interrupted")
            raise
        journal.write("finished", done=len(current))
