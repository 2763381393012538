"""`sovctl node drain|repair|replace|release|provision|quarantine`: one event each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from .opening import DEFAULT, Force, Nodes, Reason, Site, State, operations_on, print_states

if TYPE_CHECKING:
    from collections.abc import Callable

# Commands that send one event: name, event, help.
EVENTS = (
    ("repair", "repair", "Begin the repair of quarantined nodes."),
    ("replace", "replace", "Record new hardware of quarantined nodes; they need provisioning and certification."),
    ("release", "release", "Put certified, suspect or drained nodes in service with the next plan."),
    ("provision", "provision", "Record that the base software of new nodes is installed."),
)


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for name, event, text in EVENTS:
        group.command(name, help=text, epilog=f"Example: sovctl node {name} n1 --reason 'ticket 4711'")(_sends(event))
    group.command("drain", epilog="Example: sovctl node drain n1 --reason 'exchange of a fan'")(drain)
    group.command("quarantine", epilog="Example: sovctl node quarantine n1 --reason 'Xid 79'")(quarantine)


def _sends(event: str) -> Callable[..., None]:
    def send(nodes: Nodes, reason: Reason, site: Site = DEFAULT, state: State = None) -> None:
        from sovctl.engine.lifecycle.states import Event

        with operations_on(site, state, event) as operations:
            operations.send(nodes, Event(event), reason=reason)
            print_states(operations, nodes)

    return send


def drain(nodes: Nodes, reason: Reason, force: Force = False, site: Site = DEFAULT, state: State = None) -> None:
    """Take replicas and gateways off nodes with the next plan; `release` returns them."""
    from sovctl.engine.lifecycle.states import Event

    with operations_on(site, state, "drain") as operations:
        operations.send(nodes, Event.DRAIN, reason=reason, force=force)
        print_states(operations, nodes)


def quarantine(nodes: Nodes, reason: Reason, force: Force = False, site: Site = DEFAULT, state: State = None) -> None:
    """Isolate nodes with the next plan. They serve again only after repair and certification."""
    with operations_on(site, state, "quarantine") as operations:
        operations.quarantine(nodes, reason=reason, force=force)
        print_states(operations, nodes)
