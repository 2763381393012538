"""Services that come with packages and must run: fabric manager, persistence daemon."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts.node import NodeFacts
from ..spec import Node
from .context import Context
from .resource import Desired, Risk, State
from .resource_type import Query, ResourceType

# Package of the driver family -> the unit it brings, and why it must run.
UNITS = {
    "nvidia-fabricmanager": ("nvidia-fabricmanager", "NVSwitch fabric is not up without it"),
    "nvidia-persistenced": ("nvidia-persistenced", "GPUs keep their state between clients"),
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
