"""`sovctl node certify|assess|reset-breaker`: decisions from evidence."""

from __future__ import annotations

import typer

from ... import output
from .opening import DEFAULT, Nodes, Reason, Site, State, issuer_on, operations_on, print_states


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("certify", epilog="Example: sovctl node certify n1")(certify)
    group.command("assess", epilog="Example: sovctl verify && sovctl node assess")(assess)
    group.command("reset-breaker", epilog="Example: sovctl node reset-breaker --reason 'check corrected'")(reset)


def certify(nodes: Nodes, site: Site = DEFAULT, state: State = None) -> None:
    """Certify nodes by the newest run of `sovctl verify`, at the level of `lifecycle.certification`.

    Each node gets a signed certificate of its parts and results; see `sovctl node certificate`.
    """
    with operations_on(site, state, "certify") as operations:
        issuer = issuer_on(site, state)
        certificates = issuer.prepare(nodes, *operations.newest_run())
        run_id = operations.certify(nodes)
        for path in issuer.store(certificates):
            output.info(f"certificate: {path}")
        output.info(f"evidence: run {run_id}")
        print_states(operations, nodes)


def assess(site: Site = DEFAULT, state: State = None) -> None:
    """Mark nodes with failed hardware checks in the newest run as suspect, and print the next remedy of each."""
    with operations_on(site, state, "assess") as operations:
        run_id, found = operations.assess()
    output.info(f"evidence: run {run_id}")
    for fault in found.leaves:
        output.line(str(fault))
    for node, remedy in sorted(found.remedies.items()):
        output.line(f"{node}: suspect; next remedy: {remedy}")
    if not found.leaves and not found.remedies:
        output.line("no node is newly suspect")


def reset(reason: Reason, site: Site = DEFAULT, state: State = None) -> None:
    """Close the circuit breaker. Nodes that are isolated now do not count any more."""
    with operations_on(site, state, "reset-breaker") as operations:
        operations.reset_breaker(reason=reason)
    output.line("the circuit breaker is closed")
