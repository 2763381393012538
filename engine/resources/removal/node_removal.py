"""Resource type of a removed node: one resource for each step, and its registration on the controller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context
from ..host.administrator import KEYS
from ..orphan import UNITS
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType
from .remains import PROGRAM, QUERY, TABLE, Remains, command, parse_remains
from .steps import ADMINISTRATORS, AFTER, REGISTRATION, SERVICES, STEPS, Step, kept

KIND = "removal"
POOL_UNIT = f"{UNITS}sovctl-pool-"


def _expect(_context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    if facts is None:
        return
    remains = parse_remains(facts)
    for step in STEPS:
        yield Desired(
            kind=KIND,
            name=step.name,
            state=None,
            why=step.why,
            variables=_variables(step, remains),
            risk=_risk(step, remains),
            minutes=0.3,
        )
    yield Desired(
        kind=KIND,
        name=REGISTRATION,
        state=None,
        why="on the controller: its certificate is revoked, its key and records are deleted",
        variables={**_variables(Step(REGISTRATION, ""), remains), "address": str(node.address)},
    )


def _state(step: Step, remains: Remains) -> dict[str, Any]:
    """Return the things that a step removes; empty if the node lacks all of them."""
    found: dict[str, list[str]] = {
        "files": list(remains.paths.get(step.name, ())),
        "accounts": [name for name in step.accounts if name in remains.accounts],
        "groups": [name for name in step.groups if name in remains.groups],
        "blocks": [path for path in step.blocks if path in remains.blocks],
        "tables": [TABLE] if step.firewall and remains.table else [],
    }
    return {key: value for key, value in found.items() if value}


def _variables(step: Step, remains: Remains) -> dict[str, Any]:
    state = _state(step, remains)
    files = state.get("files", [])
    names = {path.removeprefix(f"{KEYS}/") for path in files if path.startswith(f"{KEYS}/")}
    return {
        "units": _in_order_of_stop(files) if step.name == SERVICES else [],
        "paths": files,
        "kept": kept(),
        "erases": step.erases,
        "accounts": state.get("accounts", []),
        "groups": state.get("groups", []),
        "locked": sorted(names) if step.name == ADMINISTRATORS else [],
        "blocks": [{"path": path, "begin": step.blocks[path][0], "end": step.blocks[path][1]}
                   for path in state.get("blocks", [])],
        "table": TABLE if state.get("tables") else "",
        "commands": [AFTER[path] for path in files if path in AFTER],
        "program": str(PROGRAM),
    }  # fmt: skip


def _in_order_of_stop(files: list[str]) -> list[str]:
    """Return the units of files: timers, probes and agents first, because these restart a pool."""
    units = [path.removeprefix(UNITS) for path in files if not path.endswith(".d")]
    restarts = ("sovctl-probe-", "sovctl-group-", "sovctl-proxy-", "sovctl-swap-")
    return sorted(units, key=lambda unit: (not unit.endswith(".timer"), not unit.startswith(restarts), unit))


def _risk(step: Step, remains: Remains) -> Risk:
    if step.name != SERVICES:
        return Risk.NONE
    is_pool = any(path.startswith(POOL_UNIT) for path in remains.paths.get(SERVICES, ()))
    return Risk.WORKLOAD if is_pool else Risk.SERVICE


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    if desired.name == REGISTRATION:
        return {"address": desired.variables["address"]}
    step = next(each for each in STEPS if each.name == desired.name)
    return _state(step, parse_remains(facts)) or None


def _query(_context: Context, _node: Node) -> Query:
    return Query(hash=(f"{POOL_UNIT}*",), units=("nftables",), commands={QUERY: command()})


RESOURCE_TYPE = ResourceType(KIND, _expect, _observe, _query)
