"""Interface of a resource type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..facts.node import NodeFacts
from ..facts.trees import TreeState
from ..spec import Node
from .context import Context
from .resource import Desired, State


@dataclass(frozen=True)
class Query:
    """Facts that a resource type needs from a node.

    Args:
        hash: globs of files.
        read: files whose text is needed.
        units: names of systemd units; a name without a suffix is a service.
        sysctls: keys.
        commands: argv of read-only commands by name. `NodeFacts.answer` returns their output.
    """

    hash: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    sysctls: tuple[str, ...] = ()
    commands: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class ResourceType:
    """A type of resources.

    Args:
        name: also the name of its Ansible role.
        expect: returns the expected resources of a node. They depend on its facts, because a container cannot have
            kernel-wide settings, and because facts show the orphans.
        observe: returns the observed state of one expected resource; None if it is absent.
        query: returns the facts that `expect` and `observe` need.
        built_tree: returns the tree that the role has built, by the name of a resource; None for a type without trees.
    """

    name: str
    expect: Callable[[Context, Node, NodeFacts | None], Iterable[Desired]]
    observe: Callable[[NodeFacts, Desired], State | None]
    query: Callable[[Context, Node], Query] = field(default=lambda _context, _node: Query())
    built_tree: Callable[[NodeFacts, str], TreeState | None] | None = None

    def observed(self, facts: NodeFacts, desired: Desired) -> State | None:
        """Return the observed state of one resource, expected or orphan; None if it is absent."""
        if desired.state is not None or "files" not in desired.variables:
            return self.observe(facts, desired)
        there = [path for path in desired.variables["files"] if path in facts.files]
        return {"files": there} if there else None
