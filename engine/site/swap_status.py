"""Servers of swap groups, awake or asleep, as the agents on their nodes report them now. No node is changed.

for each in swap_status(site):
    print(each.set, each.node, each.server, each.state, each.waiting, each.reason)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sovctl.support.errors import SovctlError

from ..facts.swap_reports import parse_swap_report
from ..gather.captures import Capture
from ..gather.gather import Request, gather
from ..resources.serving.names import instance
from ..resources.serving.swap import SwapSet, sets_on, show_command
from .site import Site

UNKNOWN = "unknown"
"""State of a server whose node or agent does not answer."""
_TIMEOUT_S = 30


@dataclass(frozen=True)
class ServerStatus:
    """State of one server of a set, which shares its GPUs with the others of the set.

    Args:
        set: name as in the units of the node, such as `assistants.1`.
        server: name of its replica, such as `chat.1`.
        state: `awake`, `asleep`, another state of the agent, or `UNKNOWN`.
        waiting: requests that wait for its turn; None if it is unknown.
        reason: of the last change of the set, or why the state is unknown.
    """

    set: str
    node: str
    server: str
    state: str
    waiting: int | None
    reason: str


def sets_by_node(site: Site) -> dict[str, list[SwapSet]]:
    """Return the sets of each node, by node name; empty without swap groups."""
    context = site.context()
    found = {node.name: list(sets_on(context, node)) for _, node in context.spec.nodes()}
    return {name: sets for name, sets in found.items() if sets}


def swap_status(site: Site, *, report: Callable[[str], None] = lambda _: None) -> list[ServerStatus]:
    """Return the status of each server of a swap group, in the order of nodes, sets and pools.

    Args:
        report: called with a line of progress for each node.
    """
    asked = sets_by_node(site)
    if not asked:
        return []
    requests = {
        node: Request({each.name: show_command(each) for each in sets}, hash=(), read=(), timeout_s=_TIMEOUT_S)
        for node, sets in asked.items()
    }
    gathered = gather(site.reachable, site.folder, requests, report=report)
    found = []
    for node, sets in asked.items():
        capture = gathered.captures.get(node)
        for each in sets:
            answer = _answer(capture, each.name) if capture is not None else gathered.failures[node][1]
            found += servers_of(node, each, answer)
    return found


def servers_of(node: str, swap_set: SwapSet, answer: dict[str, Any] | str) -> list[ServerStatus]:
    """Return the status of the servers of a set.

    Args:
        answer: report of the agent, or the reason of its absence.
    """
    names = [instance(replica) for replica in swap_set.replicas]
    if isinstance(answer, str):
        return [ServerStatus(swap_set.name, node, name, UNKNOWN, None, answer) for name in names]
    rows = {row["pool"]: row for row in answer["engines"]}
    return [
        ServerStatus(swap_set.name, node, name, rows[name]["state"], rows[name]["held"], answer["reason"])
        if name in rows
        else ServerStatus(swap_set.name, node, name, UNKNOWN, None, "the agent does not have this server")
        for name in names
    ]


def not_serving(servers: list[ServerStatus]) -> list[str]:
    """Return node and set of each set without exactly one awake server."""
    awake: dict[tuple[str, str], int] = {}
    for each in servers:
        awake.setdefault((each.node, each.set), 0)
        awake[each.node, each.set] += each.state == "awake"
    return [f"{node}/{name}" for (node, name), count in awake.items() if count != 1]


def _answer(capture: Capture, name: str) -> dict[str, Any] | str:
    try:
        return parse_swap_report(str(capture["commands"].get(name, {}).get("stdout", "")))
    except SovctlError as error:
        return error.message
