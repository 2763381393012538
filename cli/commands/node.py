"""`sovctl node`: life cycle of the nodes of a site."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sovctl.engine.lifecycle.operations import Operations

Nodes = Annotated[list[str], typer.Argument(metavar="NODE...", help="Names of nodes.")]
Site = Annotated[Path, typer.Option("--site", help="Path of site.yaml.")]
State = Annotated[Path | None, typer.Option("--state", help="State folder; default: .sovctl next to SITE.")]
Reason = Annotated[str, typer.Option("--reason", help="Reason, for the history and the ledger.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
_DEFAULT = Path("site.yaml")
# Commands that send one event: name, event, help.
_EVENTS = (
    ("drain", "drain", "Take replicas off nodes with the next plan; `release` returns them."),
    ("repair", "repair", "Begin the repair of quarantined nodes."),
    ("replace", "replace", "Record new hardware of quarantined nodes; they need provisioning and certification."),
    ("release", "release", "Put certified, suspect or drained nodes in service with the next plan."),
    ("provision", "provision", "Record that the base software of new nodes is installed."),
)


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Life cycle of nodes: drain, quarantine, repair, certify, release.")
    app.add_typer(group, name="node")
    group.command("list", epilog="Example: sovctl node list --json")(list_nodes)
    group.command("show", epilog="Example: sovctl node show n1")(show)
    for name, event, text in _EVENTS:
        group.command(name, help=text, epilog=f"Example: sovctl node {name} n1 --reason 'ticket 4711'")(_sends(event))
    group.command("quarantine", epilog="Example: sovctl node quarantine n1 --reason 'Xid 79'")(quarantine)
    group.command("certify", epilog="Example: sovctl node certify n1")(certify)
    group.command("assess", epilog="Example: sovctl verify && sovctl node assess")(assess)
    group.command("reset-breaker", epilog="Example: sovctl node reset-breaker --reason 'check corrected'")(reset)


@contextmanager
def _operations(site: Path, state: Path | None, purpose: str) -> Iterator[Operations]:
    from sovctl.engine.lifecycle.operations import Operations
    from sovctl.engine.site.state_folder import SiteState
    from sovctl.engine.validation.load import load

    spec = load(site).spec
    paths = SiteState.of_site(site, state)
    with paths.exclusive(f"node {purpose}"):
        yield Operations(spec, paths.root)


def _sends(event: str) -> Callable[..., None]:
    def send(nodes: Nodes, reason: Reason, site: Site = _DEFAULT, state: State = None) -> None:
        from sovctl.engine.lifecycle.states import Event

        with _operations(site, state, event) as operations:
            operations.send(nodes, Event(event), reason=reason)
            _print_states(operations, nodes)

    return send


def list_nodes(site: Site = _DEFAULT, state: State = None, as_json: Json = False) -> None:
    """List the nodes with their states and last reasons."""
    from sovctl.engine.lifecycle.store import load as load_fleet
    from sovctl.engine.site.state_folder import SiteState
    from sovctl.engine.validation.load import load

    spec, fleet = load(site).spec, load_fleet(SiteState.of_site(site, state).root)
    rows = []
    for group, node in spec.nodes():
        record = fleet.nodes.get(node.name)
        last = record.history[-1] if record else None
        rows.append((node.name, group.name, node.leaf or "-", fleet.state(node.name).value, *_when_and_why(last)))
    if as_json:
        keys = ("node", "group", "leaf", "state", "since", "reason")
        output.document({"nodes": [dict(zip(keys, row, strict=True)) for row in rows], "breaker": fleet.breaker})
        return
    output.table(("NODE", "GROUP", "LEAF", "STATE", "SINCE", "REASON"), rows)
    if fleet.breaker:
        output.problem(f"the circuit breaker is open: {fleet.breaker}", hint="sovctl node reset-breaker --reason TEXT")


def show(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of a node.")],
    site: Site = _DEFAULT,
    state: State = None,
    as_json: Json = False,
) -> None:
    """Show the state of a node and its history."""
    from dataclasses import asdict

    from sovctl.engine.lifecycle.records import NodeRecord
    from sovctl.engine.lifecycle.states import TRANSITIONS
    from sovctl.engine.lifecycle.store import load as load_fleet
    from sovctl.engine.site.state_folder import SiteState
    from sovctl.engine.validation.load import load
    from sovctl.support.errors import InputError

    names = [each.name for _, each in load(site).spec.nodes()]
    if node not in names:
        raise InputError(f"expected one of the nodes {', '.join(names)}, got {node!r}", where="NODE")
    record = load_fleet(SiteState.of_site(site, state).root).nodes.get(node, NodeRecord())
    if as_json:
        output.document({"node": node, "state": record.state.value, "history": [asdict(e) for e in record.history]})
        return
    output.line(f"{node}: {record.state}; possible: {', '.join(sorted(TRANSITIONS[record.state]))}")
    for each in record.history:
        remedy = f" (remedy: {each.remedy})" if each.remedy else ""
        output.line(f"  {each.time}  {each.event:11} -> {each.state:12} {each.reason}{remedy}, {each.operator}")


def quarantine(nodes: Nodes, reason: Reason, site: Site = _DEFAULT, state: State = None) -> None:
    """Isolate nodes with the next plan. They serve again only after repair and certification."""
    with _operations(site, state, "quarantine") as operations:
        operations.quarantine(nodes, reason=reason)
        _print_states(operations, nodes)


def certify(nodes: Nodes, site: Site = _DEFAULT, state: State = None) -> None:
    """Certify nodes whose checks all passed in the newest run of `sovctl verify` after their repair."""
    with _operations(site, state, "certify") as operations:
        run_id = operations.certify(nodes)
        output.info(f"evidence: run {run_id}")
        _print_states(operations, nodes)


def assess(site: Site = _DEFAULT, state: State = None) -> None:
    """Mark nodes with failed hardware checks in the newest run as suspect, and print the next remedy of each."""
    with _operations(site, state, "assess") as operations:
        run_id, found = operations.assess()
    output.info(f"evidence: run {run_id}")
    for fault in found.leaves:
        output.line(str(fault))
    for node, remedy in sorted(found.remedies.items()):
        output.line(f"{node}: suspect; next remedy: {remedy}")
    if not found.leaves and not found.remedies:
        output.line("no node is newly suspect")


def reset(reason: Reason, site: Site = _DEFAULT, state: State = None) -> None:
    """Close the circuit breaker. Nodes that are isolated now do not count any more."""
    with _operations(site, state, "reset-breaker") as operations:
        operations.reset_breaker(reason=reason)
    output.line("the circuit breaker is closed")


def _when_and_why(last: object | None) -> tuple[str, str]:
    return (getattr(last, "time", ""), getattr(last, "reason", ""))


def _print_states(operations: Operations, nodes: list[str]) -> None:
    for node in nodes:
        output.line(f"{node}: {operations.fleet.state(node)}")
    output.info("no node was changed yet; next: sovctl plan")
