"""Services of driver packages that must run: fabric manager, persistence daemon."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts.node import NodeFacts
from ..spec import Node
from .context import Context
from .resource import Desired, Risk, State
from .resource_type import Query, ResourceType

# Unit and reason, by package of the driver family.
UNITS = {
    "nvidia-fabricmanager": ("nvidia-fabricmanager", "starts the NVSwitch fabric"),
    "nvidia-persistenced": ("nvidia-persistenced", "keeps the state of GPUs between processes"),
}


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    for package in context.lock.packages_for(context.platform(node)):
        if package.name in UNITS:
            unit, why = UNITS[package.name]
            yield Desired(
                kind="service",
                name=unit,
                state={"active": "active", "enabled": "enabled"},
                why=why,
                risk=Risk.SERVICE,
            )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    unit = facts.units.get(desired.name)
    return None if unit is None else unit.state


RESOURCE_TYPE = ResourceType(
    "service",
    _expect,
    _observe,
    lambda context, node: Query(units=tuple(each.name for each in _expect(context, node, None))),
)
