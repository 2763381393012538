"""Services of a node: those of its GPU board run, and those that upgrade packages on their own do not.

The services of a board are in `catalog/board_services.yaml`, which checks read too.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog.board_services import BoardService, board_services
from ...catalog.operating_systems import supported
from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType
from ..software.package import packages_on
from .daemon import PACKAGE_LIST, runs_what_is_written

RUNNING = {"active": "active", "enabled": "enabled"}
STOPPED = {"active": "inactive", "enabled": "masked"}
UPGRADERS = ("apt-daily.timer", "apt-daily-upgrade.timer", "unattended-upgrades", "dnf-automatic.timer")
"""Units that install upgrades without a plan. Source: Debian's apt and unattended-upgrades; dnf-automatic(8)."""


PACKAGE_LISTS = tuple(
    PACKAGE_LIST.format(package=f"{prefix}*") for prefix in ("nvidia", "nvlsm", "datacenter-gpu-manager")
)
"""Lists of the packages that contain services."""


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
            variables={"state": "masked", "packages": []},
        )
    for each in services_on(context, node, facts):
        yield Desired(
            kind="service",
            name=str(each.unit),
            state={**RUNNING, "runs_what_is_written": True},
            why=each.why,
            variables={"state": "running", "packages": _packages(context, node, facts, each)},
            risk=Risk.SERVICE,
        )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    unit = facts.units.get(desired.name)
    if desired.state == STOPPED:
        return STOPPED if unit is None else unit.state
    if unit is None:
        return None
    inputs = [PACKAGE_LIST.format(package=name) for name in desired.variables["packages"]]
    return {**unit.state, "runs_what_is_written": runs_what_is_written(facts, desired.name, inputs)}


def _packages(context: Context, node: Node, facts: NodeFacts | None, service: BoardService) -> list[str]:
    """Return the names of the packages that contain a service."""
    needed = packages_on(context, node, facts)[1] if facts is not None else ()
    return [each.name for each in needed if each.component.id == service.component]


RESOURCE_TYPE = ResourceType(
    "service",
    _expect,
    _observe,
    lambda context, node: Query(units=tuple(each.name for each in _expect(context, node, None)), hash=PACKAGE_LISTS),
)
