"""State of an apply across its waves: servers that serve, failed and deferred nodes, the failure budget. Pure.

- A server on a failed node does not serve, nor does a drained one.
- A node is deferred if its change would take a service below its floor, because other nodes failed before.
- A removed node is deferred while a gateway can route to it, or a service is below its floor without it.
- With more failed nodes than `rollout.max_failed_nodes`, no further wave begins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...facts.node import NodeFacts
from ...plan.serving import Server, Serving
from ...resources.resource import Change
from ..ansible import Failure

ALL_NODES = "all"
"""Node of a failure that concerns the whole run, such as a failed start of Ansible."""


@dataclass
class Rollout:
    """State of one apply.

    Args:
        site: servers of the site.
        serving: servers that serve now.
        allowed: services that may go below their floor.
        max_failed_nodes: failure budget over all waves.
    """

    site: Serving
    serving: frozenset[Server]
    allowed: Collection[str]
    max_failed_nodes: int
    failed: dict[str, str] = field(default_factory=dict)
    """Reason by failed node."""
    deferred: dict[str, str] = field(default_factory=dict)
    """Reason by node whose change did not begin."""
    proven: set[str] = field(default_factory=set)
    drained: frozenset[Server] = frozenset()
    """Active servers that get no traffic, because an operator or an interrupted apply drained them."""

    @property
    def is_over_budget(self) -> bool:
        """Whether more nodes failed than the site tolerates."""
        return len(self.failed) > self.max_failed_nodes

    @property
    def gateways(self) -> list[str]:
        """Nodes whose gateway serves, in the order of site.yaml."""
        return [server.name for server in self.site.nodes if server in self.serving and server.is_gateway]

    def permit(self, changes: Mapping[str, Sequence[Change]]) -> tuple[dict[str, Sequence[Change]], frozenset[Server]]:
        """Return the changes of a wave that keep every floor, by node, and the serving servers that they interrupt.

        Nodes of one replica are permitted or deferred together.

        Args:
            changes: of the wave, by node.
        """
        permitted = dict(changes)
        if obstacle := self._removal_obstacle():
            for node in self.site.context.removed_names & permitted.keys():
                del permitted[node]
                self.deferred[node] = obstacle
        while True:
            own = [change for each in permitted.values() for change in each]
            serving = self.serving - self.drained
            taken = self.site.interrupted(own) & serving
            broken = {
                each.service: each
                for each in self.site.capacities(serving, taken)
                if not each.is_kept and each.service not in self.allowed
            }
            if not broken:
                return permitted, taken
            last = max(server for server in taken if server.service in broken)
            for node in self.site.nodes[last]:
                if permitted.pop(node, None) is not None:
                    self.deferred[node] = f"{broken[last.service]}, because {self._lost()}"

    def _removal_obstacle(self) -> str:
        """Return the reason why no removed node may be cleaned: a gateway can route to it, or a floor is not kept."""
        gateways = {node.name for node in self.site.context.gateway_nodes}
        if blocked := sorted(gateways & (self.failed.keys() | self.deferred.keys())):
            return f"the gateway on {blocked[0]} was not changed and may still route to this node"
        below = [each for each in self.site.all_capacities(self.serving) if not each.is_kept]
        return f"{below[0]} without this node" if below else ""

    def fail(self, failures: Iterable[Failure]) -> None:
        """Record failed nodes; the first reason of a node counts."""
        for each in failures:
            self.failed.setdefault(
                each.node, f"role {each.role or '-'}, task {each.task!r}: {each.message or 'failed'}"
            )

    def observed(self, facts: Mapping[str, NodeFacts]) -> None:
        """Replace the serving servers after an observation of all nodes. Servers of failed nodes do not serve."""
        self.serving = frozenset(
            server for server in self.site.now(facts) if self.failed.keys().isdisjoint(self.site.nodes[server])
        )

    def _lost(self) -> str:
        if self.failed:
            return f"{', '.join(list(self.failed)[:3])} failed"
        if self.drained:
            return f"{', '.join(sorted(server.name for server in self.drained)[:3])} is drained on the gateways"
        return "a server stopped after the plan"
