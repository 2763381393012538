"""What there is of a lab and whether it answers, asked now and not remembered."""

from __future__ import annotations

from dataclasses import dataclass

from ..layout import NODES, Lab, LabNode
from ..node import node
from ..services import reachability as reach
from ..services import services
from . import lifecycle

SSH_PORT = 22


@dataclass(frozen=True)
class ServiceStatus:
    """One node or daemon."""

    name: str
    what: str
    address: str
    state: str
    """"answers", "silent" (it runs and does not answer) or "off"."""

    def row(self) -> tuple[str, str, str, str]:
        """For a table."""
        return self.name, self.what, self.address, self.state

    @property
    def is_well(self) -> bool:
        """True when nothing is wrong with it."""
        return self.state == "answers"


@dataclass(frozen=True)
class LabStatus:
    """A lab at one moment."""

    name: str
    namespace: str
    simulated: bool
    """Always true: so that no reader takes it for a site."""
    is_up: bool
    parts: tuple[ServiceStatus, ...]
    """Nodes in the order of the layout, then daemons."""


def look(lab: Lab) -> LabStatus:
    """Look at every part of a lab."""
    is_whole = lifecycle.is_whole(lab)
    parts = [_node(lab, each, is_whole) for each in NODES] + [
        _service(lab, each, is_whole) for each in services.SERVICES
    ]
    return LabStatus(lab.name, lab.namespace, True, is_whole and all(part.is_well for part in parts), tuple(parts))


def _node(lab: Lab, each: LabNode, is_whole: bool) -> ServiceStatus:
    what = "GPU node (8 GPUs, simulated)" if each.kind.has_gpus else "service node"
    state = "off"
    if is_whole and node.process(lab, each):
        answers = reach.answers(lab.namespace, each.address, SSH_PORT, greeting=b"SSH-2.0")
        state = "answers" if answers else "silent"
    return ServiceStatus(each.name, what, each.address, state)


def _service(lab: Lab, each: services.Service, is_whole: bool) -> ServiceStatus:
    state = "off"
    if is_whole and services.process(lab, each):
        state = "answers" if services.answers(lab, each) else "silent"
    return ServiceStatus(each.name, each.what, each.address, state)
