"""Operations of `sovctl node` on an opened site: reads records and evidence, decides, stores."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sovctl.compliance.evidence.runs import list_runs, load_run
from sovctl.compliance.evidence.store import StoredEvidence
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.support.errors import InputError, SovctlError
from sovctl.support.operator_name import operator_name

from ..spec import SiteSpec
from . import records, store
from .certification import evidence_digest, obstacles
from .evidence import sick_nodes
from .records import Assessment, Fleet
from .states import TRANSITIONS, Event


class BreakerOpen(SovctlError):
    """The circuit breaker refused a quarantine."""


class Operations:
    """Operations on the nodes of one site. The caller holds the site's lock.

    Args:
        root: state folder.
        gpu_nodes: nodes with GPUs, whose certification requires checks of hardware; None: all nodes.
    """

    def __init__(self, spec: SiteSpec, root: Path, *, gpu_nodes: Collection[str] | None = None) -> None:
        self._spec, self._root = spec, root
        self._gpu_nodes = frozenset(gpu_nodes if gpu_nodes is not None else (node.name for _, node in spec.nodes()))
        self._names = [node.name for _, node in spec.nodes()]
        self._now, self._operator = datetime.now(UTC), operator_name()
        self.fleet = store.load(root)

    def send(self, nodes: Collection[str], event: Event, *, reason: str, force: bool = False) -> None:
        """Apply an event to nodes; all or none.

        Args:
            force: permit that no gateway serves afterwards.

        Raises:
            InputError: the state of a node does not permit the event, or no gateway would serve.
        """
        self._check_names(nodes)
        if event is Event.DRAIN:
            self._check_gateways(nodes, force=force)
        fleet = self.fleet
        for node in nodes:
            fleet = fleet.after(node, event, now=self._now, reason=reason, operator=self._operator)
        self._save(fleet, reason)

    def quarantine(self, nodes: Collection[str], *, reason: str, force: bool = False) -> None:
        """Quarantine nodes.

        Args:
            force: permit that no gateway serves afterwards.

        Raises:
            BreakerOpen: too many nodes would be isolated; no node changed.
            InputError: the state of a node does not permit it, or no gateway would serve.
        """
        self._check_names(nodes)
        self._check_gateways(nodes, force=force)
        fleet = records.quarantine(self.fleet, self._spec, nodes, now=self._now, reason=reason, operator=self._operator)
        opened = fleet.breaker if fleet.breaker != self.fleet.breaker else ""
        self._save(fleet, reason)
        if opened:
            raise BreakerOpen(
                f"the circuit breaker opened: {opened}",
                hint="no node was quarantined; examine the cause, then: sovctl node reset-breaker --reason TEXT",
            )

    def certify(self, nodes: Collection[str]) -> str:
        """Certify nodes by the newest run of `sovctl verify`; return its id.

        Raises:
            InputError: the evidence of a node does not suffice; no node changed.
        """
        self._check_names(nodes)
        run_id, stored = self.newest_run()
        evidence, limits = [each.evidence for each in stored], self._spec.lifecycle
        fleet = self.fleet
        for node in nodes:
            record = fleet.nodes.get(node, records.NodeRecord())
            if problems := obstacles(
                node,
                evidence,
                since=record.since,
                level=limits.certification,
                has_gpus=node in self._gpu_nodes,
                now=self._now,
                max_age=timedelta(hours=limits.max_evidence_age_h),
            ):
                raise InputError(
                    f"node {node} cannot be certified: {'; '.join(problems[:5])}",
                    where=f"run {run_id}",
                    hint="repair the node, then: sovctl verify",
                )
            reason = f"level {limits.certification}: sovctl verify, run {run_id}"
            if Event.CERTIFY not in TRANSITIONS[record.state]:
                fleet = fleet.after(node, Event.BURN_IN, now=self._now, reason=reason, operator=self._operator)
            fleet = fleet.after(
                node,
                Event.CERTIFY,
                now=self._now,
                reason=reason,
                operator=self._operator,
                evidence=evidence_digest(node, stored),
            )
        self._save(fleet, f"run {run_id}")
        return run_id

    def assess(self) -> tuple[str, Assessment]:
        """Mark the nodes with failed hardware checks in the newest run as suspect; return its id and the result."""
        run_id, stored = self.newest_run()
        evidence = [each.evidence for each in stored]
        sick = {node: found for node, found in sick_nodes(evidence).items() if node in self._names}
        found = records.assess(self.fleet, self._spec, sick, now=self._now, operator=self._operator)
        self._save(found.fleet, f"run {run_id}")
        return run_id, found

    def reset_breaker(self, *, reason: str) -> None:
        """Close the circuit breaker.

        Raises:
            InputError: it is closed.
        """
        if not self.fleet.breaker:
            raise InputError("the circuit breaker is closed")
        self._save(records.reset_breaker(self.fleet), reason)

    def newest_run(self) -> tuple[str, tuple[StoredEvidence, ...]]:
        """Return id and records of the newest run of `sovctl verify`.

        Raises:
            InputError: no run is stored.
        """
        runs = list_runs(self._root / "evidence")
        if not runs:
            raise InputError("no evidence found", where=str(self._root / "evidence"), hint="sovctl verify")
        run = load_run(self._root / "evidence", runs[-1], LedgerReader(self._root / "ledger"))
        return run.run_id, run.records

    def _check_names(self, nodes: Collection[str]) -> None:
        if unknown := [node for node in nodes if node not in self._names]:
            raise InputError(f"expected one of the nodes {', '.join(self._names)}, got {unknown[0]!r}", where="NODE")

    def _check_gateways(self, nodes: Collection[str], *, force: bool) -> None:
        gateways = self._spec.gateway.nodes if self._spec.gateway else []
        stopped = {*nodes, *self.fleet.unavailable()}
        if not force and gateways and set(gateways) & set(nodes) and stopped.issuperset(gateways):
            raise InputError(
                f"no gateway would serve any client without {', '.join(sorted(set(gateways) & set(nodes)))}",
                where="gateway.nodes",
                hint="release another gateway first: sovctl node list; or stop the last one with --force",
            )

    def _save(self, fleet: Fleet, reason: str) -> None:
        store.save(
            self._root,
            self._spec.site.name,
            self.fleet,
            fleet,
            reason=reason,
            operator=self._operator,
            time=self._now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
        self.fleet = fleet
