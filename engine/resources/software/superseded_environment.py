"""Superseded Python environments: folders that no service uses after an apply. Applied last, after the restarts."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context
from ..resource import Desired, State
from ..resource_type import ResourceType
from .environment import superseded
from .tree import PROGRAM


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    for path in superseded(context, node, facts) if facts else ():
        yield Desired(
            kind="superseded_environment",
            name=path.rpartition("/")[2],
            state=None,
            why="no service uses it any more",
            variables={"path": path, "manifest_program": str(PROGRAM)},
            minutes=0.2,
        )


def _observe(_facts: NodeFacts, desired: Desired) -> State | None:
    return {"path": desired.variables["path"]}  # `_expect` returns only paths that exist


RESOURCE_TYPE = ResourceType("superseded_environment", _expect, _observe)
