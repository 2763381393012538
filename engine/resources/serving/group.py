"""Group of a replica on several nodes: an agent on each node starts and stops its rank together with the others.

    group_of(context, replica, rank)   # {"rank": 1, "ranks": ["10.77.0.11", "10.77.0.12"], "port": 29601, ...}

The agent is `roles/pool/files/group`, its rules are `roles/pool/files/group_state.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.package_files import package_text

from ...facts.node import NodeFacts
from ...placement import Rank, Replica
from ...spec import Node
from ..context import ROLES, Context, render
from ..credential import CERTIFICATES
from ..resource import State
from ..services.daemon import started_after
from ..software.model import STORE
from .node_files import FOLDER, UNITS, joint_sha256
from .rank_ports import ports_of
from .start_time import start_timeout_s

AGENT_PROGRAMS = ("/usr/local/lib/sovctl/group", "/usr/local/lib/sovctl/group_state.py")
AGENT_TEMPLATES = ("group.json.j2", "group.service.j2")

RDMA_ADAPTERS = "rdma_adapters"
"""Name of the command `RDMA_COMMAND`, which a plan needs if a stage is on several nodes."""
RDMA_COMMAND = ["find", "/sys/class/infiniband", "-mindepth", "1", "-maxdepth", "1", "-printf", "%f\\n"]
START_RESERVE_S = 120
"""Added to the time-out of a server's start. A head that waits for a rank looks like a slow start."""


def is_group(replica: Replica) -> bool:
    """Return whether a replica has ranks on several nodes, which only start together."""
    return len(replica.ranks) > 1


def needs_rdma(context: Context, replica: Replica) -> bool:
    """Return whether a stage of a replica is on several nodes, whose network each layer then waits for."""
    return context.pool(replica.pool).nodes_per_stage > 1 and context.engine.uses_nccl


def group_of(context: Context, replica: Replica, rank: Rank, weights: list[str]) -> dict[str, Any]:
    """Return the settings of a rank's agent; empty for a replica on one node.

    Args:
        weights: folders of the model store that the server loads.
    """
    if not is_group(replica):
        return {}
    return {
        "rank": rank.node_rank,
        "ranks": [str(context.spec.node(each.node).address) for each in replica.ranks],
        "port": ports_of(context, replica).agent,
        "start_timeout_s": start_timeout_s(context, replica) + START_RESERVE_S,
        "weights": [f"{STORE}/{name}" for name in weights],
        "fabric": _fabric(context, context.spec.node(rank.node)),
    }


def _fabric(context: Context, node: Node) -> dict[str, Any]:
    """Return the PCI addresses of a node's compute ports and of its other ports, and the link layer."""
    roles, slots = context.group(node).ports, context.platform(node).compute_slots
    known = str(slots.value).split() if slots is not None and slots.value is not None else []
    return {
        "compute": roles.compute or known,
        "others": [*roles.storage, *roles.in_band],
        "link_layer": "InfiniBand" if context.spec.roce is None else "Ethernet",
    }


def agent_unit(name: str) -> str:
    """Return the systemd unit of a rank's agent, without `.service`, by the replica's `instance` name."""
    return f"sovctl-group-{name}"


def agent_files(name: str) -> tuple[str, ...]:
    """Return the paths on a node of an agent's settings and unit (order of `AGENT_TEMPLATES`)."""
    return f"{FOLDER}/{name}.group.json", f"{UNITS}/{agent_unit(name)}.service"


def expected_agent(item: Mapping[str, Any]) -> State:
    """Return the expected state of an agent.

    Args:
        item: name and variables of the pool's resource.
    """
    texts = [render("pool", template, item=item) for template in AGENT_TEMPLATES]
    texts += [package_text(ROLES / "pool" / "files" / path.rpartition("/")[2]) for path in AGENT_PROGRAMS]
    return {
        "agent_sha256": joint_sha256(sha256_hex(text) for text in texts),
        "agent": "active",
        "agent_at_boot": "enabled",
        "agent_runs_what_is_written": True,
    }


def observed_agent(facts: NodeFacts, name: str) -> State:
    """Return the observed state of an agent, in the form of `expected_agent`."""
    unit, files = facts.units.get(agent_unit(name)), [*agent_files(name), *AGENT_PROGRAMS]
    return {
        "agent_sha256": joint_sha256(facts.sha256(path) for path in files),
        "agent": unit.active if unit else None,
        "agent_at_boot": unit.enabled if unit else None,
        "agent_runs_what_is_written": started_after(facts, unit, [*files, *(each.path for each in CERTIFICATES)]),
    }
