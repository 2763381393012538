"""The shape every kind has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.context import Context
from sovctl.engine.plan.resource import Desired, State
from sovctl.engine.spec import Node


@dataclass(frozen=True)
class Look:
    """What a kind needs the probe to look at on a node: globs to hash, files to read, units, sysctl keys."""

    hash: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    sysctls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """One kind of resource.

    Args:
        name: of the kind; its Ansible role has the same name.
        expect: what should be on a node, given its facts (a container cannot have kernel-wide settings).
        observe: what is there of one desired thing; None when it is not.
        look: what the probe must look at for that.
        variables: role variables from all desired things of this kind on a node, the changed ones marked.
    """

    name: str
    expect: Callable[[Context, Node, NodeFacts | None], Iterable[Desired]]
    observe: Callable[[NodeFacts, Desired], State | None]
    look: Callable[[Context, Node], Look] = field(default=lambda _context, _node: Look())


def variables_for(role: str, desired: Iterable[Desired]) -> dict[str, Any]:
    """The one variable a role takes: `<role>_items`, a list with the variables of each thing to change."""
    return {f"{role}_items": [{"name": each.name, **each.variables} for each in desired]}
