"""The components of a site that sovctl configures, and the checks that measure each one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .names import uuid_of


@dataclass(frozen=True)
class Component:
    """One kind of component.

    Args:
        name: stable name; the UUID is computed from it.
        type: OSCAL component type.
        topics: beginnings of the ids of its checks, before the dot.
    """

    name: str
    title: str
    type: str
    description: str
    topics: tuple[str, ...]

    @property
    def uuid(self) -> str:
        """UUID, equal for all sites."""
        return uuid_of("component", self.name)


COMPONENTS = (
    Component("gateway", "Gateway", "service", "Inspects, tokenizes and records requests to models.", ("gateway",)),
    Component("pools", "Model pools", "service", "Serves models with vLLM inside the perimeter.", ("pool", "model")),
    Component(
        "perimeter", "Perimeter", "software", "Firewall and name resolution of all nodes.", ("perimeter", "network")
    ),
    Component("clock", "Clocks", "software", "Synchronizes the clocks of nodes with the site's sources.", ("clock",)),
    Component(
        "access", "Access and certificates", "software", "Accounts, ssh and certificates.", ("access", "certificate")
    ),
    Component("storage", "Storage and memory", "hardware", "Disks and main memory of nodes.", ("disk", "memory")),
    Component(
        "fabric",
        "Fabric",
        "hardware",
        "Links between GPUs and between nodes.",
        ("fabric", "ib", "roce", "nvlink", "nccl", "bandwidth"),
    ),
    Component(
        "accelerators",
        "Accelerators",
        "hardware",
        "GPUs and their driver.",
        ("gpu", "vram", "bus", "driver", "xid", "diagnostic"),
    ),
    Component(
        "nodes",
        "Nodes",
        "hardware",
        "Machines, firmware and operating system.",
        ("host", "unit", "cpu", "bmc", "firmware", "node", "uniform"),
    ),
    Component("software", "Software sources", "software", "Packages of the site's signed mirror.", ("software",)),
    Component("plan", "Plan", "software", "Planned state of nodes, and its comparison with the measured.", ("plan",)),
    Component(
        "monitoring",
        "Monitoring",
        "software",
        "Measures nodes, pools and gateways, and reports alerts.",
        ("monitoring",),
    ),
    Component(
        "retrieval",
        "Retrieval",
        "software",
        "Keeps documents, and finds the chunks that a client may read.",
        ("retrieval",),
    ),
    Component("ledger", "Ledger", "software", "Append-only log of evidence, changes and reports.", ("site",)),
)

_BY_TOPIC = {topic: component for component in COMPONENTS for topic in component.topics}


def component_of(check_id: str) -> Component:
    """Return the component that a check measures.

    Raises:
        KeyError: no component has the topic of the check.
    """
    return _BY_TOPIC[check_id.partition(".")[0]]


def has_component(check_id: str) -> bool:
    """Return whether a component has the topic of a check."""
    return check_id.partition(".")[0] in _BY_TOPIC


def components_of(checks: Iterable[str]) -> list[Component]:
    """Return the components that some checks measure, in the order of `COMPONENTS`."""
    found = {component_of(check).name for check in checks if has_component(check)}
    return [each for each in COMPONENTS if each.name in found]


def checks_by_component(mapping: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """Return the checks of the map of one control, by name of the component they measure."""
    found: dict[str, list[str]] = {}
    for check in mapping["checks"] if mapping else []:
        if has_component(check):
            found.setdefault(component_of(check).name, []).append(check)
    return found


def system_component(component: Component) -> dict[str, Any]:
    """Return the component as part of a system."""
    return {
        "uuid": component.uuid,
        "type": component.type,
        "title": component.title,
        "description": component.description,
        "status": {"state": "operational"},
    }
