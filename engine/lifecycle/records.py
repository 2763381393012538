"""Records of the nodes of a site, and their changes by events. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from sovctl.support.errors import InputError

from ..spec import SiteSpec
from .breaker import limit, opens
from .evidence import Sickness
from .leaves import LeafFault, leaf_faults
from .remedies import Remedy, next_remedy
from .states import Event, State, next_state


@dataclass(frozen=True)
class Entry:
    """One event of a node.

    Args:
        operator: name of the account that ran the command.
        remedy: that was chosen for a fault; empty otherwise.
        evidence: digest of the evidence of a certification; empty otherwise.
    """

    time: str
    event: str
    state: str
    reason: str
    operator: str
    remedy: str = ""
    evidence: str = ""


@dataclass(frozen=True)
class NodeRecord:
    """State of a node and its history, oldest entry first."""

    state: State = State.IN_SERVICE
    history: tuple[Entry, ...] = ()

    @property
    def since(self) -> str:
        """Time of the last event; empty without one."""
        return self.history[-1].time if self.history else ""

    @property
    def was_suspect(self) -> bool:
        """Whether the node was suspect before it was drained, so that it needs a certification."""
        return len(self.history) > 1 and self.history[-2].state == State.SUSPECT

    def remedies(self) -> list[tuple[datetime, Remedy]]:
        """Return earlier remedies with their times."""
        return [(datetime.fromisoformat(each.time), Remedy(each.remedy)) for each in self.history if each.remedy]


@dataclass(frozen=True)
class Fleet:
    """Records of all nodes.

    Args:
        nodes: by name; a node without a record is in service.
        breaker: reason why the circuit breaker is open; empty if it is closed.
        accepted: nodes that were isolated at the last reset of the breaker.
    """

    nodes: Mapping[str, NodeRecord] = field(default_factory=dict)
    breaker: str = ""
    accepted: tuple[str, ...] = ()

    def state(self, node: str) -> State:
        """Return the state of a node."""
        return self.nodes.get(node, NodeRecord()).state

    def isolated(self) -> list[str]:
        """Return the nodes in quarantine or repair."""
        return sorted(name for name, record in self.nodes.items() if record.state.is_isolated)

    def unavailable(self) -> frozenset[str]:
        """Return the nodes on which plan places no replicas."""
        return frozenset(name for name, record in self.nodes.items() if not record.state.may_serve)

    def after(
        self,
        node: str,
        event: Event,
        *,
        now: datetime,
        reason: str,
        operator: str,
        remedy: str = "",
        evidence: str = "",
    ) -> Fleet:
        """Return the fleet after an event of one node.

        Raises:
            InputError: the table does not allow the event, or the circuit breaker is open.
        """
        record = self.nodes.get(node, NodeRecord())
        if event is Event.RELEASE and record.state is State.DRAINING and record.was_suspect:
            raise InputError(
                f"node {node} was suspect before it was drained: it needs a certification",
                hint=f"sovctl node quarantine {node}, then repair, verify and certify it",
            )
        state = next_state(node, record.state, event)
        if state is State.QUARANTINED and self.breaker:
            raise InputError(
                f"the circuit breaker is open: {self.breaker}",
                hint="examine the cause, then: sovctl node reset-breaker --reason TEXT",
            )
        entry = Entry(now.strftime("%Y-%m-%dT%H:%M:%SZ"), event, state, reason, operator, remedy, evidence)
        changed = replace(record, state=state, history=(*record.history, entry))
        return replace(self, nodes={**self.nodes, node: changed})


def quarantine(
    fleet: Fleet, spec: SiteSpec, nodes: Collection[str], *, now: datetime, reason: str, operator: str
) -> Fleet:
    """Return the fleet after the quarantine of nodes; all or none.

    The circuit breaker opens, and no node changes, if more nodes than `lifecycle.max_quarantined` would be isolated.
    """
    names = [node.name for _, node in spec.nodes()]
    allowed = limit(spec.lifecycle.max_quarantined, len(names))
    if not fleet.breaker and opens(fleet.isolated(), nodes, fleet.accepted, allowed):
        count = len(set(fleet.isolated()) | set(nodes))
        text = f"{count} of {len(names)} nodes would be isolated, lifecycle.max_quarantined permits {allowed}"
        return replace(fleet, breaker=text)
    for node in nodes:
        fleet = fleet.after(node, Event.QUARANTINE, now=now, reason=reason, operator=operator)
    return fleet


def reset_breaker(fleet: Fleet) -> Fleet:
    """Return the fleet with a closed breaker; nodes that are isolated now do not count any more."""
    return replace(fleet, breaker="", accepted=tuple(fleet.isolated()))


@dataclass(frozen=True)
class Assessment:
    """Result of an assessment of sick nodes.

    Args:
        leaves: indicted leaves; their nodes stay in service.
        remedies: next remedy by newly suspect node.
    """

    fleet: Fleet
    leaves: tuple[LeafFault, ...]
    remedies: Mapping[str, Remedy]


def assess(fleet: Fleet, spec: SiteSpec, sick: Mapping[str, Sickness], *, now: datetime, operator: str) -> Assessment:
    """Mark sick nodes as suspect with their next remedy, except nodes of an indicted leaf.

    Args:
        sick: failed hardware checks by node.
    """
    leaves = leaf_faults(sick, {node.name: node.leaf for _, node in spec.nodes()})
    of_leaves = {node for fault in leaves for node in fault.sick}
    remedies = {}
    for node in _in_service(fleet, sick):
        if node in of_leaves:
            continue
        earlier = fleet.nodes.get(node, NodeRecord()).remedies()
        remedies[node] = next_remedy(earlier, now, least=sick[node].least)
        reason = sick[node].reason
        fleet = fleet.after(node, Event.SUSPECT, now=now, reason=reason, operator=operator, remedy=remedies[node])
    return Assessment(fleet, tuple(leaves), remedies)


def _in_service(fleet: Fleet, nodes: Iterable[str]) -> list[str]:
    return sorted(node for node in nodes if fleet.state(node) is State.IN_SERVICE)
