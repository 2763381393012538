"""`sovctl node list|show`: states and histories of nodes."""

from __future__ import annotations

from typing import Annotated

import typer

from ... import output
from .opening import DEFAULT, Json, Site, State


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("list", epilog="Example: sovctl node list --json")(list_nodes)
    group.command("show", epilog="Example: sovctl node show n1")(show)


def list_nodes(site: Site = DEFAULT, state: State = None, as_json: Json = False) -> None:
    """List the nodes with their states and last reasons, then the removed nodes that are not cleaned yet."""
    from sovctl.engine.lifecycle.store import load as load_fleet
    from sovctl.engine.site.site import Site as OpenedSite

    opened = OpenedSite.open(site, state=state, touches_nodes=False)
    fleet = load_fleet(opened.state.root)
    rows = []
    for group, node in opened.spec.nodes():
        record = fleet.nodes.get(node.name)
        last = record.history[-1] if record else None
        when_and_why = (last.time, last.reason) if last else ("", "")
        rows.append((node.name, group.name, node.leaf or "-", fleet.state(node.name).value, *when_and_why))
    rows += [(node.name, "-", "-", "removed", "", "not in site.yaml; the next apply cleans it")
             for node in opened.removed()]  # fmt: skip
    if as_json:
        keys = ("node", "group", "leaf", "state", "since", "reason")
        output.document({"nodes": [dict(zip(keys, row, strict=True)) for row in rows], "breaker": fleet.breaker})
        return
    output.table(("NODE", "GROUP", "LEAF", "STATE", "SINCE", "REASON"), rows)
    if fleet.breaker:
        output.problem(f"the circuit breaker is open: {fleet.breaker}", hint="sovctl node reset-breaker --reason TEXT")


def show(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of a node.")],
    site: Site = DEFAULT,
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
        remedy += f" (evidence: {each.evidence[:12]})" if each.evidence else ""
        output.line(f"  {each.time}  {each.event:11} -> {each.state:12} {each.reason}{remedy}, {each.operator}")
