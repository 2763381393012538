"""The shape every kind has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..facts.node import NodeFacts
from ..spec import Node
from .context import Context
from .resource import Desired, State


@dataclass(frozen=True)
class Query:
    """What a kind needs the probe to look at on a node: globs to hash, files to read, units, sysctl keys."""

    hash: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    sysctls: tuple[str, ...] = ()


@dataclass(frozen=True)
class ResourceType:
    """One kind of resource.

    Args:
        name: of the kind; its Ansible role has the same name.
        expect: what should be on a node, given its facts (a container cannot have kernel-wide settings).
        observe: what is there of one wanted thing; None when it is not.
        query: what the probe must look at for that.
    """

    name: str
    expect: Callable[[Context, Node, NodeFacts | None], Iterable[Desired]]
    observe: Callable[[NodeFacts, Desired], State | None]
    query: Callable[[Context, Node], Query] = field(default=lambda _context, _node: Query())

    def observed(self, facts: NodeFacts, desired: Desired) -> State | None:
        """What is there of one thing, wanted or left over; None when it is not."""
        if desired.state is not None:
            return self.observe(facts, desired)
        there = [path for path in desired.variables["files"] if path in facts.files]
        return {"files": there} if there else None
