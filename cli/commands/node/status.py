"""`sovctl node status`: ranks of the replicas on several nodes."""

from __future__ import annotations

import typer

from sovctl.support.errors import ExitCode

from ... import output
from .opening import DEFAULT, Json, Site, State

_COLUMNS = ("REPLICA", "RANK", "NODE", "STATE", "GENERATION", "REASON")


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("status", epilog="Example: sovctl node status --json")(status)


def status(site: Site = DEFAULT, state: State = None, as_json: Json = False) -> None:
    """Show the ranks of replicas on several nodes, as their agents report them now.

    Exit code 1 if the ranks of a replica do not all run the same generation.
    """
    from dataclasses import asdict

    from sovctl.engine.site.group_status import group_status, groups_of, not_running
    from sovctl.engine.site.site import Site as OpenedSite

    opened = OpenedSite.open(site, state=state, touches_nodes=False)
    if groups_of(opened):
        opened = OpenedSite.open(site, state=state, touches_nodes=True)
    ranks = group_status(opened, report=output.progress)
    failed = list(not_running(ranks))
    if as_json:
        output.document({"ranks": [asdict(each) for each in ranks], "not_running": failed})
    elif ranks:
        rows = [
            (each.replica, str(each.rank), each.node, each.state, str(each.generation or "-"), each.reason)
            for each in ranks
        ]
        output.table(_COLUMNS, rows)
    else:
        output.line("no replica is on several nodes")
    if failed:
        output.problem(f"not all ranks run one generation: {', '.join(failed)}", hint="journalctl -u sovctl-group-NAME")
        raise typer.Exit(ExitCode.FAILURE)
