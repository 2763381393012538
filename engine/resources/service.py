"""Services of a node: those of its GPU board run, and those that upgrade packages on their own do not.

The services of a board are in `catalog/board_services.yaml`, which checks read too.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog.board_services import BoardService, board_services
from ..catalog.operating_systems import supported
from ..facts.node import NodeFacts
from ..spec import Node
from .context import Context
from .resource import Desired, Risk, State
from .resource_type import Query, ResourceType

RUNNING = {"active": "active", "enabled": "enabled"}
STOPPED = {"active": "inactive", "enabled": "masked"}
UPGRADERS = ("apt-daily.timer", "apt-daily-upgrade.timer", "unattended-upgrades", "dnf-automatic.timer")
"""Units that install upgrades without a plan. Source: Debian's apt and unattended-upgrades; dnf-automatic(8)."""


def services_on(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[BoardService]:
    """Yield the services of a node with a unit of their own; without facts, those of all operating systems."""
    has_own_kernel = facts is None or not (facts.is_container or facts.simulated)
    row = None if facts is None else supported(facts.system)
    components = None if row is None else {each.component for each in row.packages}
    for each in board_services(context.platform(node)):
        is_packaged = components is None or each.component in components
        if each.unit is not None and is_packaged and (has_own_kernel or not each.kernel):
            yield each


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    for name in UPGRADERS:
        if facts is not None and name not in facts.units:
            continue  # absent or masked
        yield Desired(
            kind="service",
            name=name,
            state=STOPPED,
            why="only planned changes install packages",
            variables={"state": "masked"},
        )
    for each in services_on(context, node, facts):
        yield Desired(
            kind="service",
            name=str(each.unit),
            state=RUNNING,
            why=each.why,
            variables={"state": "running"},
            risk=Risk.SERVICE,
        )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    unit = facts.units.get(desired.name)
    if unit is None and desired.state == STOPPED:
        return STOPPED
    return None if unit is None else unit.state


RESOURCE_TYPE = ResourceType(
    "service",
    _expect,
    _observe,
    lambda context, node: Query(units=tuple(each.name for each in _expect(context, node, None))),
)
