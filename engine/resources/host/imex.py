"""Nodes of an NVLink domain in the settings of IMEX, on rack-scale boards such as GB200 NVL72.

- A node group with such a platform is one domain: its trays share the NVLink switches of one rack.
- The file is the same on every node of the domain: IMEX rejects another order or number (NVIDIA IMEX service guide).
- A group with more nodes than a domain can have is refused, because its domains are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog.platforms import PlatformComponent
from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context
from ..resource import Desired, State
from ..resource_type import Query, ResourceType

FILE = "/etc/nvidia-imex/nodes_config.cfg"
UNIT = "nvidia-imex"
PORT = 50000
"""TCP port between the nodes of a domain, default of IMEX_SERVER_PORT. Source: public configurations, 2026-11-28."""


def largest_domain(context: Context, node: Node) -> int | None:
    """Return the largest number of nodes in the NVLink domain of a node; None for a board without IMEX."""
    platform = context.platform(node)
    if PlatformComponent.IMEX not in platform.parts or platform.nvlink_domain is None:
        return None
    return platform.nvlink_domain // platform.gpus


def domain_of(context: Context, node: Node) -> list[str]:
    """Return the addresses in the NVLink domain of a node, in the order of site.yaml; empty without a domain."""
    largest, members = largest_domain(context, node), context.group(node).nodes
    return [str(each.address) for each in members] if largest and len(members) <= largest else []


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    if addresses := domain_of(context, node):
        yield Desired(
            kind="imex",
            name="domain",
            state={"nodes": addresses},
            why=f"NVLink domain of node group {context.group(node).name}",
            variables={"path": FILE, "nodes": addresses},
        )


def _observe(facts: NodeFacts, _desired: Desired) -> State | None:
    text = facts.texts.get(FILE)
    if text is None:
        return None
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return {"nodes": [line for line in lines if line]}


def _query(context: Context, node: Node) -> Query:
    return Query(read=(FILE,)) if domain_of(context, node) else Query()


RESOURCE_TYPE = ResourceType("imex", _expect, _observe, _query)
