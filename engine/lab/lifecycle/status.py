"""Current status of the nodes and services of a lab."""

from __future__ import annotations

from dataclasses import dataclass

from ..layout import Lab, LabNode, Tier
from ..services import reachability as reach
from ..services import services
from . import lifecycle, nodes

SSH_PORT = 22


@dataclass(frozen=True)
class ServiceStatus:
    """Status of one node or service."""

    name: str
    what: str
    address: str
    state: str
    """"answers", "silent" (runs without answering) or "off"."""

    def row(self) -> tuple[str, str, str, str]:
        """Return the row of a table."""
        return self.name, self.what, self.address, self.state

    @property
    def is_well(self) -> bool:
        """Whether the node or service answers."""
        return self.state == "answers"


@dataclass(frozen=True)
class LabStatus:
    """Status of a lab."""

    name: str
    namespace: str
    simulated: bool
    """Always True, so that output of a lab is recognized as such."""
    is_up: bool
    parts: tuple[ServiceStatus, ...]
    """Nodes in the order of the layout, then services."""


def status_of(lab: Lab) -> LabStatus:
    """Return the current status of a lab."""
    is_whole = lifecycle.is_whole(lab)
    parts = [_node(lab, each, is_whole) for each in lab.nodes] + [
        _service(lab, each, is_whole) for each in services.services_of(lab)
    ]
    return LabStatus(lab.name, lab.namespace, True, is_whole and all(part.is_well for part in parts), tuple(parts))


def _node(lab: Lab, each: LabNode, is_whole: bool) -> ServiceStatus:
    what = "GPU node (8 GPUs, simulated)" if each.kind.has_gpus else "service node"
    if each.tier is Tier.VM:
        what = "virtual machine (emulated)"
    state = "off"
    if is_whole and nodes.of(each).process(lab, each):
        answers = reach.answers(lab.namespace, each.address, SSH_PORT, greeting=b"SSH-2.0")
        state = "answers" if answers else "silent"
    return ServiceStatus(each.name, what, each.address, state)


def _service(lab: Lab, each: services.Service, is_whole: bool) -> ServiceStatus:
    state = "off"
    if is_whole and services.process(lab, each):
        state = "answers" if services.answers(lab, each) else "silent"
    return ServiceStatus(each.name, each.what, each.address, state)
