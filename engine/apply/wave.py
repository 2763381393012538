"""Runs one wave: permits its nodes, drains, changes them, proves by observation and checks, and gives traffic back.

A node has failed if a task failed there, if a difference is left, or if a check does not pass. The other nodes of the
wave are completed. Their servers get traffic again; servers of failed nodes stay drained until `--resume`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..facts.node import NodeFacts
from ..facts.running import running
from ..plan.reboots import KIND
from ..plan.scope import Scope
from ..plan.serving import Server
from ..plan.waves import Wave
from ..resources.attributes import KIND as KIND_OF_ATTRIBUTES
from ..resources.context import Context
from ..resources.removal.node_removal import KIND as KIND_OF_REMOVAL
from ..resources.removal.steps import REGISTRATION
from ..resources.resource import Change
from .ansible import Failure
from .availability.drain import Drainer, is_ours
from .availability.gate import Gate
from .availability.rollout import ALL_NODES, Rollout
from .execution import Executor
from .journal import RECHECKED, Journal
from .outcome import ApplyFailed
from .package_changes import package_changes, unplanned
from .progress import Progress, Report
from .proof import built_trees, remaining
from .reboots import without_new_boot_id
from .stale import SHOWN


@dataclass
class WaveRunner:
    """Runs the waves of one apply.

    Args:
        changes: all changes of the apply.
        facts: newest facts of all nodes of the plan; replaced after each wave.
        scope: of the plan.
        left: returns the remaining changes of nodes by newest facts.
    """

    context: Context
    changes: Sequence[Change]
    facts: dict[str, NodeFacts]
    scope: Scope
    rollout: Rollout
    executor: Executor
    drainer: Drainer
    gate: Gate
    journal: Journal
    report: Report
    left: Callable[[Context, Mapping[str, NodeFacts], Collection[str], Scope], list[Change]] = remaining
    drained_before: frozenset[Server] = frozenset()
    """Replicas that an interrupted apply left drained. They get traffic after their wave; those of operators do not."""

    unproven: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Resource types that earlier runs changed, by node whose checks have not passed since."""

    def run_all(self, waves: Iterable[Wave]) -> None:
        """Check unproven nodes, then run waves in order.

        Raises:
            ApplyFailed: nodes failed or were deferred. Within the failure budget all waves were started.
        """
        self.restore_access()
        self.recheck()
        self._stop_over_budget()
        self.return_servers()
        for wave in waves:
            self.run(wave)
            self._stop_over_budget()
        if self.rollout.failed or self.rollout.deferred:
            raise ApplyFailed(
                f"{self._failures()}; all other nodes are done",
                hint=f"fix the cause, then: sovctl apply --resume (journal: {self.journal.run_id})",
            )

    def run(self, wave: Wave) -> None:
        """Run one wave; do nothing if its nodes have no changes.

        Raises:
            ApplyFailed: Ansible did not start, or a gateway did not confirm a drain.
        """
        of_node = self._changes_of(wave)
        permitted, taken = self.rollout.permit(of_node)
        for node in of_node.keys() - permitted.keys():
            self.journal.write("node-deferred", wave=wave.name, node=node, reason=self.rollout.deferred[node])
            self.report(Progress("deferred", node, f"not changed: {self.rollout.deferred[node]}"))
        if not permitted:
            return
        ids = {node: [change.id for change in changes] for node, changes in permitted.items()}
        self.report(Progress("wave", "", f"{wave.name}: {', '.join(ids)}"))
        interrupted = self.rollout.site.interrupted(each for of in permitted.values() for each in of)
        # Requests may still run on a server whose drain was interrupted.
        self._drain(wave, taken | (interrupted & self.drained_before & self.rollout.serving))
        self.journal.write(
            "wave-started", wave=wave.name, nodes=list(ids), changes=sorted(each for of in ids.values() for each in of)
        )
        failures = self.executor.change(ids)
        for failure in failures:
            if failure.node == ALL_NODES:
                raise ApplyFailed(f"{failure.task}: {failure.message}", hint="no later wave was started")
        self.rollout.fail(failures)
        kinds = {node: {change.kind for change in changes} for node, changes in permitted.items()}
        proven = self._prove(wave, {node: of for node, of in kinds.items() if node not in self.rollout.failed})
        self._give_traffic(taken, proven)

    def restore_access(self) -> None:
        """Correct modes and owners on gateway nodes first: no gateway can drain a server without its own settings.

        No service restarts, and the later waves of the nodes prove the result.

        Raises:
            ApplyFailed: Ansible did not start.
        """
        ids: dict[str, list[str]] = {}
        for change in self.changes:
            is_metadata = change.kind == KIND_OF_ATTRIBUTES and "type" not in (change.after or {"type": ""})
            if is_metadata and change.node in self.rollout.gateways:
                ids.setdefault(change.node, []).append(change.id)
        if not ids:
            return
        self.journal.write("access-restored", nodes=ids)
        self.report(Progress("access", "", f"modes and owners first, for drains: {', '.join(ids)}"))
        for failure in self.executor.change(ids):
            if failure.node == ALL_NODES:
                raise ApplyFailed(f"{failure.task}: {failure.message}", hint="no wave was started")

    def recheck(self) -> None:
        """Run the checks of nodes that an earlier run changed and did not prove, if no wave of this run changes them.

        Without this, such a node would get traffic although its checks failed, because no difference is left.
        """
        changed = {change.node for change in self.changes}
        kinds = {
            node: of
            for node, of in self.unproven.items()
            if node in self.facts and node in self.context.nodes and node not in changed
        }
        if not kinds:
            return
        self.report(Progress("wave", "", f"checked again, not proven by an earlier apply: {', '.join(kinds)}"))
        checked = self.gate.check(kinds)
        if checked.evidence_runs:
            self.journal.write(
                "checked", wave=RECHECKED, evidence_runs=checked.evidence_runs, blocked=sorted(checked.problems)
            )
        self._fail(checked.problems, "check")
        if proven := [node for node in kinds if node not in self.rollout.failed]:
            self.journal.write(RECHECKED, nodes=proven)
        for node in kinds.keys() & self.rollout.failed.keys():
            self.journal.write("node-failed", wave=RECHECKED, node=node, reason=self.rollout.failed[node])
            self.report(Progress("failed", node, f"failed: {self.rollout.failed[node]}"))
        self.rollout.observed(self.facts)

    def _stop_over_budget(self) -> None:
        if self.rollout.is_over_budget:
            raise ApplyFailed(
                self._failures(),
                hint="later waves were not started; fix the cause, then: sovctl apply --resume "
                f"(journal: {self.journal.run_id})",
            )

    def return_servers(self) -> None:
        """Give traffic to servers that an interrupted apply left drained, if they serve and need no change."""
        if not (gateways := self.rollout.gateways):
            return
        drained, changed = self.drainer.drained(gateways=gateways), {change.node for change in self.changes}
        ours = frozenset(server for server, reason in drained.items() if is_ours(reason))
        kept = changed | self.rollout.failed.keys()
        ready = {server for server in ours & self.rollout.serving if kept.isdisjoint(self.rollout.site.nodes[server])}
        self.drained_before = ours - ready
        self.rollout.drained = frozenset(drained) - ready
        if others := {server.name: reason for server, reason in sorted(drained.items()) if server not in ours}:
            self.journal.write("drained-by-operator", servers=others)
            shown = ", ".join(f"{name} ({reason})" for name, reason in others.items())
            self.report(Progress("drained", "", f"drained by an operator, and left so: {shown}"))
        if ready:
            self.drainer.undrain(ready, gateways=gateways)
            self.journal.write("undrained", servers=_names(ready))

    def _changes_of(self, wave: Wave) -> dict[str, list[Change]]:
        found: dict[str, list[Change]] = {node: [] for node in wave.nodes}
        for change in self.changes:
            if change.node in found:
                found[change.node].append(change)
        return {node: changes for node, changes in found.items() if changes}

    def _drain(self, wave: Wave, taken: Collection[Server]) -> None:
        gateways = self.rollout.gateways
        replicas = [server for server in taken if not server.is_gateway]
        if not replicas or not gateways:
            return
        self.journal.write("drain-started", wave=wave.name, servers=_names(replicas), gateways=gateways)
        drained = self.drainer.drain(replicas, gateways=gateways)
        running = {server.name: count for server, count in drained.running.items()}
        self.journal.write("drained", wave=wave.name, servers=_names(replicas), running=running, unable=drained.unable)
        text = f"drained {', '.join(_names(replicas))} on {', '.join(gateways)}"
        if drained.unable:
            text += f"; {', '.join(drained.unable)} cannot drain, because an earlier version of sovctl runs there"
        if running:
            text += f"; still running: {', '.join(f'{count} on {name}' for name, count in running.items())}"
        self.report(Progress("drained", "", text))

    def _prove(self, wave: Wave, kinds: Mapping[str, Collection[str]]) -> list[str]:
        """Return the nodes without remaining differences whose checks pass; record the other ones as failed.

        Args:
            kinds: changed resource types by node, of nodes without failed tasks.
        """
        seen = self.executor.observe(kinds)
        before, self.facts = self.facts, {**self.facts, **seen}
        self._fail({node: "no complete answer after the change" for node in kinds if node not in seen}, "observe")
        self._record_trees(seen)
        self._check_packages(before, seen)
        self._check_reboots(before, seen)
        self._retire(seen)
        left: dict[str, list[Change]] = {}
        for change in self.left(self.context, self.facts, seen, self.scope):
            left.setdefault(change.node, []).append(change)
        self._fail({node: _differences(changes) for node, changes in left.items()}, "differences remain")
        same = {
            node: of
            for node, of in kinds.items()
            if node in seen and node not in left and node not in self.rollout.failed
        }
        checked = self.gate.check({node: of for node, of in same.items() if KIND_OF_REMOVAL not in of})
        if checked.evidence_runs:
            self.journal.write(
                "checked", wave=wave.name, evidence_runs=checked.evidence_runs, blocked=sorted(checked.problems)
            )
        self._fail(checked.problems, "check")
        proven = [node for node in same if node not in self.rollout.failed]
        self.rollout.observed(self.facts)
        if proven:
            self.journal.write("wave-proven", wave=wave.name, nodes=proven)
            text = f"{wave.name}: observed again, no difference left on {', '.join(proven)}"
            self.report(Progress("proven", "", text))
        for node in set(wave.nodes) & self.rollout.failed.keys():
            self.journal.write("node-failed", wave=wave.name, node=node, reason=self.rollout.failed[node])
            self.report(Progress("failed", node, f"failed: {self.rollout.failed[node]}"))
        return proven

    def _retire(self, seen: Mapping[str, NodeFacts]) -> None:
        """Retire the removed nodes on which only the registration is left."""
        for node in self.context.removed:
            if node.name not in seen or node.name in self.rollout.failed:
                continue
            left = self.left(self.context, self.facts, [node.name], self.scope)
            if all(change.name == REGISTRATION for change in left):
                self.executor.retire(node)
                self.journal.write("node-removed", node=node.name)
                removed = tuple(each for each in self.context.removed if each != node)
                self.context = replace(self.context, removed=removed)
                self.facts = {name: facts for name, facts in self.facts.items() if name != node.name}
                self.report(Progress("removed", node.name, "removed from the site; its certificate is revoked"))

    def _record_trees(self, seen: Mapping[str, NodeFacts]) -> None:
        """Record the manifests of the environments and models that the wave has built."""
        built = built_trees(seen, self.changes)
        if built:
            self.executor.record(built)
            digests = {"/".join(key): each.manifest_sha256 for key, each in built.items()}
            self.journal.write("trees-recorded", trees=digests)
            self.context = replace(self.context, trees={**self.context.trees, **built})

    def _check_packages(self, before: Mapping[str, NodeFacts], after: Mapping[str, NodeFacts]) -> None:
        """Record the packages that changed; a node with packages that are not in the plan has failed."""
        changed = {node: package_changes(before[node], facts) for node, facts in after.items()}
        if any(changed.values()):
            self.journal.write("packages-changed", nodes={node: each for node, each in changed.items() if each})
        problems = {}
        for node, facts in after.items():
            if other := unplanned(before[node], facts, [each for each in self.changes if each.node == node]):
                more = f" and {len(other) - SHOWN} more" if len(other) > SHOWN else ""
                shown = ", ".join(str(each) for each in other[:SHOWN])
                problems[node] = f"packages changed that are not in the plan: {shown}{more}"
        self._fail(problems, "compare packages with the plan")

    def _check_reboots(self, before: Mapping[str, NodeFacts], after: Mapping[str, NodeFacts]) -> None:
        """Record the boot ids of rebooted nodes; a node with its former boot id has failed."""
        planned = [change for change in self.changes if change.kind == KIND and change.node in after]
        stayed = without_new_boot_id(planned, before, after)
        problems = {
            node: f"expected a new boot id after its reboot, got {running(after[node]).boot_id} as before; "
            "check the console of the node"
            for node in stayed
        }
        self._fail(problems, "compare the boot id")
        for change in planned:
            if change.node not in stayed:
                self.journal.write(
                    "rebooted",
                    node=change.node,
                    action=change.name,
                    boot_id_before=running(before[change.node]).boot_id,
                    boot_id_after=running(after[change.node]).boot_id,
                )

    def _fail(self, problems: Mapping[str, str], task: str) -> None:
        self.rollout.fail(Failure(node, "", task, reason) for node, reason in problems.items())

    def _give_traffic(self, taken: Collection[Server], proven: Collection[str]) -> None:
        gateways = self.rollout.gateways
        ready = [
            server
            for server in {*taken, *self.drained_before}
            if not server.is_gateway
            and server in self.rollout.serving
            and set(self.rollout.site.nodes[server]).isdisjoint(self.rollout.failed)
            and not set(self.rollout.site.nodes[server]).isdisjoint(proven)
        ]
        if ready and gateways:
            self.drainer.undrain(ready, gateways=gateways)
            self.rollout.drained -= frozenset(ready)
            self.journal.write("undrained", servers=_names(ready))

    def _failures(self) -> str:
        failed, deferred = self.rollout.failed, self.rollout.deferred
        parts = []
        if failed:
            shown = "; ".join(f"{node}: {reason}" for node, reason in list(failed.items())[:SHOWN])
            more = f" and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
            budget = f"{len(failed)} nodes failed, rollout.max_failed_nodes is {self.rollout.max_failed_nodes}: "
            parts.append((budget if len(failed) > 1 or self.rollout.max_failed_nodes else "") + shown + more)
        if deferred:
            shown = "; ".join(f"{node}: {reason}" for node, reason in list(deferred.items())[:SHOWN])
            parts.append(f"{len(deferred)} nodes were not changed: {shown}")
        return "; ".join(parts)


def _names(servers: Iterable[Server]) -> list[str]:
    return sorted(server.name for server in servers)


def _differences(changes: Sequence[Change]) -> str:
    names = ", ".join(f"{change.id} ({', '.join(change.after or ['still present'])})" for change in changes[:SHOWN])
    return f"{len(changes)} differences remain after the change: {names}"
