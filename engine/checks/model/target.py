"""One check of one node, of one object on a node, or of the controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .active_check import ActiveExpectation
from .check import Check, Expectation
from .check_context import CONTROLLER
from .fleet_check import Expected as FleetExpectation


@dataclass(frozen=True)
class CheckTarget:
    """A check and the target that it measures.

    Args:
        node: name of a node, or `CONTROLLER`.
    """

    check: Check[Any]
    node: str
    expectation: Expectation

    @property
    def name(self) -> str:
        """Name of the node, or `node/subject` for one of several objects on it. Unique within a check."""
        return f"{self.node}/{self.expectation.subject}" if self.expectation.subject else self.node

    @property
    def id(self) -> str:
        """Unique within a site; also the id of the pytest test."""
        return f"{self.name}-{self.check.id}"

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes that are measured for the target, and the controller."""
        compared = self.expectation
        return compared.nodes if isinstance(compared, ActiveExpectation | FleetExpectation) else (self.node,)

    @property
    def is_controller(self) -> bool:
        """Whether the check measures this controller."""
        return self.node == CONTROLLER
