"""States of a node and the events that change them, as a table. Pure.

    inventoried -> provisioned -> burn-in -> certified -> in-service -> suspect -> draining -> quarantined
    quarantined -> repair -> burn-in

- An event that is not in the table of a state is rejected.
- A quarantined node serves again only through repair, burn-in and certification.
- A node without a record is in service, so that existing sites need no records.
- A node in service can be certified there: certificates expire, and a renewal needs no drain.
"""

from __future__ import annotations

from enum import StrEnum

from sovctl.support.errors import InputError


class State(StrEnum):
    """State of a node."""

    INVENTORIED = "inventoried"
    PROVISIONED = "provisioned"
    BURN_IN = "burn-in"
    CERTIFIED = "certified"
    IN_SERVICE = "in-service"
    SUSPECT = "suspect"
    DRAINING = "draining"
    QUARANTINED = "quarantined"
    REPAIR = "repair"

    @property
    def may_serve(self) -> bool:
        """Whether plan places replicas on the node. A suspect node serves until it is drained."""
        return self in (State.IN_SERVICE, State.SUSPECT)

    @property
    def is_isolated(self) -> bool:
        """Whether the circuit breaker counts the node."""
        return self in (State.QUARANTINED, State.REPAIR)


class Event(StrEnum):
    """Event in the life of a node."""

    PROVISION = "provision"
    BURN_IN = "burn-in"
    CERTIFY = "certify"
    RELEASE = "release"
    SUSPECT = "suspect"
    DRAIN = "drain"
    QUARANTINE = "quarantine"
    REPAIR = "repair"
    REPLACE = "replace"
    REMEDY = "remedy"


TRANSITIONS: dict[State, dict[Event, State]] = {
    State.INVENTORIED: {Event.PROVISION: State.PROVISIONED, Event.QUARANTINE: State.QUARANTINED},
    State.PROVISIONED: {Event.BURN_IN: State.BURN_IN, Event.QUARANTINE: State.QUARANTINED},
    State.BURN_IN: {Event.CERTIFY: State.CERTIFIED, Event.QUARANTINE: State.QUARANTINED},
    State.CERTIFIED: {
        Event.CERTIFY: State.CERTIFIED,
        Event.RELEASE: State.IN_SERVICE,
        Event.DRAIN: State.DRAINING,
        Event.QUARANTINE: State.QUARANTINED,
    },
    State.IN_SERVICE: {
        Event.CERTIFY: State.IN_SERVICE,
        Event.SUSPECT: State.SUSPECT,
        Event.DRAIN: State.DRAINING,
        Event.QUARANTINE: State.QUARANTINED,
    },
    State.SUSPECT: {
        Event.RELEASE: State.IN_SERVICE,
        Event.DRAIN: State.DRAINING,
        Event.QUARANTINE: State.QUARANTINED,
        Event.REMEDY: State.SUSPECT,
    },
    State.DRAINING: {Event.RELEASE: State.IN_SERVICE, Event.QUARANTINE: State.QUARANTINED},
    State.QUARANTINED: {Event.REPAIR: State.REPAIR, Event.REPLACE: State.INVENTORIED},
    State.REPAIR: {
        Event.BURN_IN: State.BURN_IN,
        Event.QUARANTINE: State.QUARANTINED,
        Event.REPLACE: State.INVENTORIED,
        Event.REMEDY: State.REPAIR,
    },
}
"""Next state by state and event."""


def next_state(node: str, state: State, event: Event) -> State:
    """Return the state after an event.

    Raises:
        InputError: the table does not allow the event.
    """
    allowed = TRANSITIONS[state]
    if event not in allowed:
        raise InputError(
            f"node {node} is {state}: expected {' or '.join(sorted(allowed))}, got {event}",
            hint=f"show its history: sovctl node show {node}",
        )
    return allowed[event]
