"""The other end of `attributes` and `unit`: files and units as planned, and each value that can be changed by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from node_edits import Change, Handle, with_answer

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.facts.units import UnitState
from sovctl.engine.resources.attributes import QUERY
from sovctl.engine.resources.resource import Desired
from sovctl.engine.resources.services.unit import UNITS
from sovctl.engine.spec import Node


def with_attributes(facts: NodeFacts, path: str, **fields: Any) -> NodeFacts:
    """The same with other attributes of a path."""
    seen = json.loads(facts.answers[QUERY]["stdout"])
    seen[path] = {**seen.get(path, {}), **fields}
    return with_answer(facts, QUERY, json.dumps(seen))


def _put_attributes(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    default = {"type": "file", "mode": "0644", "uid": 0, "gid": 0, "is_locked": False}
    return with_attributes(facts, desired.name, **{**default, **(desired.state or {})})


def _attributes_handles(desired: Desired) -> Iterator[Handle]:
    others = {"type": "link", "mode": "0666", "uid": 1000, "gid": 1000, "is_locked": True}
    for key in desired.state or {}:
        yield Handle("attributes", desired.name, key, _attribute(desired.name, key, others[key]))


def _attribute(path: str, key: str, value: Any) -> Change:
    return lambda facts: with_attributes(facts, path, **{key: value})


def with_unit_properties(facts: NodeFacts, unit: str, *, load: str = "loaded", **properties: str) -> NodeFacts:
    """The same with properties of a unit."""
    before = facts.unit_states.get(unit)
    known = {**(before.properties if before else {}), **properties}
    state = UnitState(unit, load, "active", "running", 1, known)
    return replace(facts, unit_states={**facts.unit_states, unit: state})


def _put_unit(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    folder = UNITS if desired.name.startswith("sovctl-") else "/usr/lib/systemd/system"
    return with_unit_properties(facts, desired.name, FragmentPath=f"{folder}/{desired.name}", NeedDaemonReload="no")


def _unit_handles(desired: Desired) -> Iterator[Handle]:
    def handle(key: str, **fields: str) -> Handle:
        return Handle("unit", desired.name, key, lambda facts: with_unit_properties(facts, desired.name, **fields))

    yield handle("is_masked", load="masked")
    yield handle("other_files", DropInPaths=f"{UNITS}/{desired.name}.d/override.conf /usr/lib/systemd/a.conf")
    yield handle("needs_daemon_reload", NeedDaemonReload="yes")
    if not desired.name.startswith("sovctl-"):
        yield handle("other_files", FragmentPath=f"{UNITS}/{desired.name}")


PUT: dict[str, Callable[[NodeFacts, Desired, Node], NodeFacts]] = {
    "attributes": _put_attributes,
    "unit": _put_unit,
    "superseded_environment": lambda facts, _desired, _node: facts,
}
HANDLES: dict[str, Callable[[Desired], Iterator[Handle]]] = {"attributes": _attributes_handles, "unit": _unit_handles}
