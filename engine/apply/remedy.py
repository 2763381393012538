"""Carries out a remedy on one node: as an apply does, with locks, drain, floors, journal, proof and checks.

The evidence of success is the next `sovctl verify`; the remedy alone does not put a node back in service.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from sovctl.support.errors import InputError, NodeUnreachable

from ..facts.node import NodeFacts
from ..facts.running import BOOT_ID
from ..lifecycle import store
from ..lifecycle.operations import Operations
from ..lifecycle.records import NodeRecord
from ..lifecycle.remedies import Remedy
from ..lifecycle.states import Event, State
from ..plan.file import Plan
from ..plan.remedies import BY_HAND, remedy_changes
from ..plan.scope import Scope, with_replicas
from ..plan.serving import Serving
from ..plan.waves import waves
from ..site.site import Site
from .availability.consent import check_consent
from .availability.gate import MakeGate
from .node_lock.locks import NodeLocks
from .progress import Report
from .reboots import refuse_own_host
from .run_waves import Run, new_run_id, run_waves


@dataclass(frozen=True)
class Treatment:
    """A remedy that is ready to be carried out.

    Args:
        facts: of all nodes that answer.
    """

    node: str
    remedy: Remedy
    plan: Plan
    facts: dict[str, NodeFacts]

    @property
    def by_hand(self) -> str:
        """Part that people do; empty if none."""
        return BY_HAND.get(self.remedy, "")


def chosen_remedy(site: Site, node: str, wanted: str | None) -> Remedy:
    """Return `wanted`, or the remedy of the last assessment of a node.

    Raises:
        InputError: the node is in a state without remedies, or no assessment chose one.
    """
    names = [each.name for _, each in site.spec.nodes()]
    if node not in names:
        raise InputError(f"expected one of the nodes {', '.join(names)}, got {node!r}", where="NODE")
    record = store.load(site.state.root).nodes.get(node, NodeRecord())
    if record.state not in (State.SUSPECT, State.REPAIR):
        hint = "mark it by evidence: sovctl verify, then: sovctl node assess; a quarantined node: sovctl node repair"
        raise InputError(f"node {node} is {record.state}: expected suspect or repair", where="NODE", hint=hint)
    if wanted is not None:
        if wanted not in tuple(Remedy):
            raise InputError(f"expected one of {', '.join(Remedy)}, got {wanted!r}", where="--remedy")
        return Remedy(wanted)
    earlier = [remedy for _, remedy in record.remedies()]
    if not earlier:
        raise InputError(f"no assessment chose a remedy for {node}", hint=f"name one: --remedy {Remedy.REBOOT}")
    return earlier[-1]


def treatment(site: Site, node: str, remedy: Remedy) -> Treatment:
    """Observe the site and return the changes of a remedy, with its waves.

    Raises:
        NodeUnreachable: the node, or one that shares a replica with it, does not answer.
        InputError: the remedy has no effect on the node.
    """
    context = site.context()
    facts, unknown = site.observe_reachable(context, report=lambda _: None)
    if node not in facts:
        hint = "use its BMC; if the node stays silent: sovctl node quarantine"
        raise NodeUnreachable(f"{node}: {unknown.get(node, 'no answer')}", hint=hint)
    found = remedy_changes(context, facts, node, remedy)
    refuse_own_host(found, facts, boot_id=Path(BOOT_ID).read_text().strip())
    scope = Scope(tuple(with_replicas(context, [node])), ("pool", "gateway"))
    plan = replace(
        site.plan(context, facts, unknown=unknown),
        changes=tuple(found),
        waves=tuple(waves(context, found, Serving(context).now(facts))),
        scope=scope,
        refusals=(),
    )
    return Treatment(node, remedy, plan, facts)


def carry_out(
    site: Site,
    treated: Treatment,
    *,
    reason: str,
    allow_downtime: Collection[str] = (),
    gate: MakeGate,
    report: Report,
) -> str:
    """Carry out a remedy and record it; return the name of the run.

    Raises:
        InputError: a service would go below its floor without consent.
        ApplyFailed: the node did not return to its planned state.
    """
    check_consent(treated.plan, allow_downtime)
    with site.state.exclusive("node remedy") as lock:
        run_id = new_run_id(treated.plan.sha256, datetime.now(UTC))
        locks = NodeLocks(site, run_id)
        with locks.held({change.node for change in treated.plan.changes}):
            run = Run(run_id, lock, locks, allow_downtime=allow_downtime, rechecks=False)
            run_waves(site, treated.plan, treated.plan.changes, treated.facts, run, gate=gate, report=report)
        operations = Operations(site.spec, site.state.root)
        operations.send([treated.node], Event.REMEDY, reason=f"{treated.remedy}, run {run_id}: {reason}")
    return run_id


def isolate(site: Site, node: str, *, reason: str) -> None:
    """Quarantine a node, the last remedy of the ladder.

    Raises:
        BreakerOpen, InputError: see `Operations.quarantine`.
    """
    with site.state.exclusive("node remedy"):
        Operations(site.spec, site.state.root).quarantine([node], reason=f"{Remedy.ISOLATE}: {reason}")
