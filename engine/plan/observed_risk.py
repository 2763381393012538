"""Risk of changes with regard to the observed servers: a change stops a pool only if one of its servers has a process.

Resource types state the risk of a change without facts. Before the first apply, and after a crash, no server can stop.
A server that runs finishes its requests first, which takes up to `DRAIN_MINUTES`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ..facts.node import NodeFacts
from ..resources import pool
from ..resources.context import Context
from ..resources.resource import Change, Risk
from ..resources.serving.node_files import UNITS
from ..resources.serving.start_time import DRAIN_MINUTES

_PREFIX, _SUFFIX = f"{UNITS}/sovctl-pool-", ".service"
_STOPPED = frozenset({"inactive", "failed"})


def with_observed_risk(context: Context, changes: Iterable[Change], facts: Mapping[str, NodeFacts]) -> Iterator[Change]:
    """Yield changes; those that concern no running server have no risk `stops a pool`."""
    running: dict[str, set[str]] = {}
    for change in changes:
        if change.risk is not Risk.WORKLOAD:
            yield change
            continue
        if change.node not in running:
            running[change.node] = _running(facts[change.node])
        here = running[change.node]
        if not here & _concerned(context, change, here):
            yield replace(change, risk=Risk.NONE)
        elif change.kind == pool.RESOURCE_TYPE.name:
            yield replace(change, minutes=round(change.minutes + DRAIN_MINUTES, 1))
        else:
            yield change


def _concerned(context: Context, change: Change, running: set[str]) -> set[str]:
    """Return the names of the servers that a change on their node can stop."""
    if change.kind == pool.RESOURCE_TYPE.name:
        return {change.name}
    if change.kind == "model":
        here = context.replicas_on(context.spec.node(change.node))
        return {pool.instance(each) for each in here if change.name in pool.weights(context.pool(each.pool))}
    return running


def _running(facts: NodeFacts) -> set[str]:
    """Return the names of the servers on a node that have a unit and are not stopped.

    A unit whose state is not in the facts, such as that of an orphan, counts as running.
    """
    files = (path for path in facts.files if path.startswith(_PREFIX) and path.endswith(_SUFFIX))
    names = {path.removeprefix(_PREFIX).removesuffix(_SUFFIX) for path in files}
    units = {name: facts.units.get(f"sovctl-pool-{name}") for name in names}
    return {name for name, unit in units.items() if unit is None or unit.active not in _STOPPED}
