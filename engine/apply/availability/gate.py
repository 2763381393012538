"""Health gate between waves: checks of the changed nodes must pass. `engine.checks.runner.gate` runs the checks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol


class Gate(Protocol):
    """Runs checks of nodes after their change."""

    def problems(self, kinds: Mapping[str, Collection[str]]) -> dict[str, str]:
        """Return the blocking verdicts (FAIL, UNKNOWN) by node; nodes whose checks all pass are absent.

        Args:
            kinds: names of the changed resource types, by node.
        """
