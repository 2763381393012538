"""Ports between the ranks of a replica on several nodes.

    ports_of(context, replica)     # RankPorts(agent=29601, engine=29501)

Replicas that share a node have different ports. All further ports are assigned by the kernel.
"""

from __future__ import annotations

from typing import NamedTuple

from ...placement import Replica
from ..context import Context


class RankPorts(NamedTuple):
    """Ports of one replica, equal on all its nodes.

    Args:
        agent: of the agent of each rank.
        engine: of the head; vLLM's --master-port, or --data-parallel-rpc-port with data parallelism.
    """

    agent: int
    engine: int


FIRST = RankPorts(agent=29601, engine=29501)
"""Ports of the first such replica of a node; its further replicas have the next ones."""
ASSIGNED_PORTS = "32768-60999"
"""Ports that the kernel assigns; default of net.ipv4.ip_local_port_range (Linux, networking/ip-sysctl.rst).

vLLM, Gloo and NCCL bind most of their ports so (vLLM docs/usage/security.md).
"""


def ports_of(context: Context, replica: Replica) -> RankPorts:
    """Return the ports of a replica on several nodes."""
    return context.once(_ports)[replica.pool, replica.index]


def _ports(context: Context) -> dict[tuple[str, int], RankPorts]:
    taken: dict[str, int] = {}
    found = {}
    for replica in context.replicas:
        if len(replica.ranks) > 1:
            nodes = [rank.node for rank in replica.ranks]
            offset = max(taken.get(node, 0) for node in nodes)
            found[replica.pool, replica.index] = RankPorts(*(port + offset for port in FIRST))
            taken |= dict.fromkeys(nodes, offset + 1)
    return found
