"""Runs one wave: changes its nodes, then proves by a new observation that no difference is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..facts.node import NodeFacts
from ..facts.running import running
from ..plan.reboots import KIND
from ..plan.scope import Scope
from ..plan.waves import Wave
from ..resources.context import Context
from ..resources.resource import Change
from .execution import Executor
from .journal import Journal
from .outcome import ApplyFailed
from .package_changes import package_changes, unplanned
from .progress import Progress, Report
from .proof import remaining
from .reboots import without_new_boot_id
from .stale import SHOWN


@dataclass(frozen=True)
class WaveRunner:
    """Runs the waves of one apply.

    Args:
        changes: all changes of the apply.
        facts: of all nodes of the plan when the apply started.
        scope: of the plan.
    """

    context: Context
    changes: Sequence[Change]
    facts: Mapping[str, NodeFacts]
    scope: Scope
    executor: Executor
    journal: Journal
    report: Report

    def run(self, wave: Wave) -> None:
        """Run one wave; do nothing if its nodes have no changes.

        Raises:
            ApplyFailed: a task failed on a node, or a difference is left.
        """
        ids = {
            node: [change.id for change in self.changes if change.node == node]
            for node in wave.nodes
            if any(change.node == node for change in self.changes)
        }
        if not ids:
            return
        self.report(Progress("wave", "", f"{wave.name}: {', '.join(ids)}"))
        self.journal.write(
            "wave-started", wave=wave.name, nodes=list(ids), changes=sorted(each for of in ids.values() for each in of)
        )
        failures = self.executor.change(ids)
        if failures:
            first = failures[0]
            raise ApplyFailed(
                f"{first.node}: role {first.role or '-'}, task {first.task!r}: {first.message or 'failed'}",
                hint="later waves were not started; fix the node, then: sovctl apply --resume "
                f"(journal: {self.journal.run_id})",
            )
        after = self.executor.observe(list(ids))
        self._check_packages(after)
        self._check_reboots(after)
        left = remaining(self.context, {**self.facts, **after}, nodes=ids.keys(), scope=self.scope)
        if left:
            names = ", ".join(
                f"{change.id} ({', '.join(change.after or ['still present'])})" for change in left[:SHOWN]
            )
            raise ApplyFailed(
                f"{wave.name}: {len(left)} differences remain after the change: {names}",
                hint="show them: sovctl plan",
            )
        self.journal.write("wave-proven", wave=wave.name, nodes=list(ids))
        self.report(Progress("proven", "", f"{wave.name}: observed again, no difference left on {', '.join(ids)}"))

    def _check_packages(self, after: Mapping[str, NodeFacts]) -> None:
        """Record the packages that changed, and compare them with the plan.

        Raises:
            ApplyFailed: a package changed that the plan does not contain.
        """
        changed = {node: package_changes(self.facts[node], facts) for node, facts in after.items()}
        if any(changed.values()):
            self.journal.write("packages-changed", nodes={node: each for node, each in changed.items() if each})
        other = [
            f"{node}: {each}"
            for node, facts in after.items()
            for each in unplanned(self.facts[node], facts, [each for each in self.changes if each.node == node])
        ]
        if other:
            more = f" and {len(other) - SHOWN} more" if len(other) > SHOWN else ""
            raise ApplyFailed(
                f"packages changed that are not in the plan: {', '.join(other[:SHOWN])}{more}",
                hint="find the cause on the node, then plan again: sovctl plan",
            )

    def _check_reboots(self, after: Mapping[str, NodeFacts]) -> None:
        planned = [change for change in self.changes if change.kind == KIND and change.node in after]
        if stayed := without_new_boot_id(planned, self.facts, after):
            boot_id = running(after[stayed[0]]).boot_id
            raise ApplyFailed(
                f"{stayed[0]}: expected a new boot id after its reboot, got {boot_id} as before",
                hint="check the console of the node, then: sovctl apply --resume",
            )
        for change in planned:
            self.journal.write(
                "rebooted",
                node=change.node,
                action=change.name,
                boot_id_before=running(self.facts[change.node]).boot_id,
                boot_id_after=running(after[change.node]).boot_id,
            )
