"""Runs one wave: changes its nodes, then proves by a new observation that no difference is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..facts.node import NodeFacts
from ..plan.waves import Wave
from ..resources.context import Context
from ..resources.resource import Change
from .execution import Executor
from .journal import Journal
from .outcome import ApplyFailed
from .progress import Progress, Report
from .proof import remaining
from .stale import SHOWN


@dataclass(frozen=True)
class WaveRunner:
    """Runs the waves of one apply.

    Args:
        changes: all changes of the apply.
        facts: of all nodes when the apply started.
    """

    context: Context
    changes: Sequence[Change]
    facts: Mapping[str, NodeFacts]
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
        left = remaining(self.context, {**self.facts, **self.executor.observe(list(ids))}, nodes=ids.keys())
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
