"""Ranks of the replicas on several nodes, as the agents on their nodes report them now. No node is changed.

for each in group_status(site):
    print(each.replica, each.rank, each.node, each.state, each.generation, each.reason)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

from sovctl.support.errors import SovctlError

from ..facts.rank_reports import parse_rank_reports
from ..gather.captures import Capture
from ..gather.gather import Gathered, Request, gather
from ..placement import Rank, Replica
from ..resources.pool import instance
from ..resources.serving.group import AGENT_PROGRAMS, agent_files, is_group
from .site import Site

UNKNOWN = "unknown"
"""State of a rank whose node or agent does not answer."""
_TIMEOUT_S = 30


@dataclass(frozen=True)
class RankStatus:
    """State of one rank.

    Args:
        replica: name as in the units of its nodes, such as `chat`.
        state: `down`, `waiting`, `running`, or `UNKNOWN`.
        generation: number of the start; None if it is unknown.
        reason: of the last change, or why the state is unknown.
    """

    replica: str
    rank: int
    node: str
    state: str
    generation: int | None
    reason: str


def groups_of(site: Site) -> list[Replica]:
    """Return the serving replicas on several nodes, in the order of pools and replicas."""
    return list(filter(is_group, site.context().serving_replicas))


def group_status(site: Site, *, report: Callable[[str], None] = lambda _: None) -> list[RankStatus]:
    """Return the status of each rank, in the order of pools, replicas and ranks; empty without such a replica.

    Args:
        report: called with a line of progress for each node.
    """
    groups = groups_of(site)
    commands: dict[str, dict[str, list[str]]] = {}
    for replica in groups:
        for rank in replica.ranks:
            name = instance(replica)
            commands.setdefault(rank.node, {})[name] = [AGENT_PROGRAMS[0], "--show", agent_files(name)[0]]
    if not commands:
        return []
    requests = {node: Request(chosen, hash=(), read=(), timeout_s=_TIMEOUT_S) for node, chosen in commands.items()}
    gathered = gather(site.reachable, site.folder, requests, report=report)
    return [_rank_status(gathered, replica, rank) for replica in groups for rank in replica.ranks]


def not_running(ranks: list[RankStatus]) -> Iterator[str]:
    """Yield the name of each replica whose ranks do not all run one generation."""
    for name, group in groupby(ranks, key=lambda each: each.replica):
        found = list(group)
        if {each.state for each in found} != {"running"} or len({each.generation for each in found}) > 1:
            yield name


def _rank_status(gathered: Gathered, replica: Replica, rank: Rank) -> RankStatus:
    name = instance(replica)
    state, generation, reason = UNKNOWN, None, ""
    if (capture := gathered.captures.get(rank.node)) is None:
        reason = gathered.failures[rank.node][1]
    else:
        try:
            own = _own_report(capture, name, rank)
        except SovctlError as error:
            reason = error.message
        else:
            reason = str(own["error"] if "error" in own else own["reason"])
            if "error" not in own:
                state, generation = str(own["state"]), int(str(own["generation"]))
    return RankStatus(name, rank.node_rank, rank.node, state, generation, reason)


def _own_report(capture: Capture, name: str, rank: Rank) -> dict[str, object]:
    """Return the report of the rank on the node that was asked."""
    text = str(capture["commands"].get(name, {}).get("stdout", ""))
    own = dict(parse_rank_reports(text).get(rank.node_rank, {"error": "no report of this rank"}))
    return own if "error" in own or own.keys() >= {"state", "generation", "reason"} else {"error": "incomplete report"}
