"""`sovctl node status`: ranks of the replicas on several nodes, and servers of swap groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from sovctl.support.errors import ExitCode

from ... import output
from .opening import DEFAULT, Json, Site, State

if TYPE_CHECKING:
    from sovctl.engine.site.group_status import RankStatus
    from sovctl.engine.site.swap_status import ServerStatus

_RANKS = ("REPLICA", "RANK", "NODE", "STATE", "GENERATION", "REASON")
_SERVERS = ("SET", "NODE", "SERVER", "STATE", "WAITING", "REASON")


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("status", epilog="Example: sovctl node status --json")(status)


def status(site: Site = DEFAULT, state: State = None, as_json: Json = False) -> None:
    """Show ranks of replicas on several nodes and servers of swap groups, as their agents report them now.

    Exit code 1 if the ranks of a replica do not all run the same generation, or a set has not exactly one awake server.
    """
    from dataclasses import asdict

    from sovctl.engine.site.group_status import group_status, groups_of, not_running
    from sovctl.engine.site.site import Site as OpenedSite
    from sovctl.engine.site.swap_status import not_serving, sets_by_node, swap_status

    opened = OpenedSite.open(site, state=state, touches_nodes=False)
    if groups_of(opened) or sets_by_node(opened):
        opened = OpenedSite.open(site, state=state, touches_nodes=True)
    ranks = group_status(opened, report=output.progress)
    servers = swap_status(opened, report=output.progress)
    failed, unserved = list(not_running(ranks)), not_serving(servers)
    if as_json:
        document = {"ranks": [asdict(each) for each in ranks], "not_running": failed}
        output.document({**document, "servers": [asdict(each) for each in servers], "not_serving": unserved})
    else:
        _show(ranks, servers)
    if failed:
        output.problem(f"not all ranks run one generation: {', '.join(failed)}", hint="journalctl -u sovctl-group-NAME")
    if unserved:
        output.problem(f"not one server awake: {', '.join(unserved)}", hint="journalctl -u sovctl-swap-NAME")
    if failed or unserved:
        raise typer.Exit(ExitCode.FAILURE)


def _show(ranks: list[RankStatus], servers: list[ServerStatus]) -> None:
    if ranks:
        rows = [
            (one.replica, str(one.rank), one.node, one.state, str(one.generation or "-"), one.reason) for one in ranks
        ]
        output.table(_RANKS, rows)
    if servers:
        output.table(
            _SERVERS,
            [
                (one.set, one.node, one.server, one.state, "-" if one.waiting is None else str(one.waiting), one.reason)
                for one in servers
            ],
        )
    if not ranks and not servers:
        output.line("no replica is on several nodes, and no pool has a swap group")
