"""Health gate between waves: checks of the changed nodes must pass. `engine.checks.runner.gate` runs the checks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sovctl.compliance.ledger.store import Ledger


@dataclass(frozen=True)
class GateResult:
    """Result of the checks after one wave."""

    problems: dict[str, str] = field(default_factory=dict)
    """Blocking verdicts (FAIL, UNKNOWN) by node; nodes whose checks all pass are absent."""
    evidence_runs: tuple[str, ...] = ()
    """Runs in the evidence store with every verdict, one for each attempt; empty if no check was required."""


class Gate(Protocol):
    """Runs checks of nodes after their change."""

    def check(self, kinds: Mapping[str, Collection[str]]) -> GateResult:
        """Run the checks of changed nodes and store their results as evidence.

        Args:
            kinds: names of the changed resource types, by node.
        """


MakeGate = Callable[[Ledger, str, str], Gate]
"""Returns the gate of one apply, from the site's ledger, open for writing, the digest of the plan, and the run id."""
