"""Swap groups on nodes: the pools that share GPUs in turns, the settings of their agent, and the routes of their proxy.

    (group,) = sets_on(context, node)      # SwapSet(name="assistants", replicas=(Replica("chat", ...), ...))

A set has the replicas of one index of all pools of a swap group. The agent is `roles/swap_group/files/swap`; other
programs give it a turn with `want_command`, and read its state with `show_command`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ...catalog.overheads import load_overheads
from ...placement import Replica
from ...spec import Node
from ..context import Context
from ..credential import TLS
from .names import instance, unit_name
from .node_files import FOLDER, UNITS
from .probe_request import probe_request
from .proxy import engine_socket
from .start_time import start_timeout_s

PROGRAM = "/usr/local/lib/sovctl/swap"
PROGRAMS = (PROGRAM, "/usr/local/lib/sovctl/swap_state.py", "/usr/local/lib/sovctl/swap_schedule.py")
SERVER_USER = "sovctl-vllm"
HOLD_S = 60
"""Longest wait of a request for its turn; then the proxy answers 503."""
MAX_HELD = 256
LEAD_S = 15
"""A scheduled pool gets its turn this early: the first sleep of a server took 12 s, a wake 0.5 s (one H100)."""

HELD_ROUTES = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/embeddings",
    "/v1/pooling",
    "/v1/score",
    "/v1/rerank",
    "/v1/classify",
)
"""Routes of the proxy whose requests need the GPUs. They wait for the turn of their pool."""
FREE_ROUTES = ("/health", "/metrics", "/version", "/v1/models", "/v1/messages/count_tokens", "/tokenize")
"""Routes of the proxy that a sleeping engine answers. All other routes get 404."""

_NAME = r"(?P<name>[a-z][a-z0-9-]*(?:\.[0-9]+)?)"
SET_FILES = (
    re.compile(rf"{UNITS}/sovctl-swap-{_NAME}\.service"),
    re.compile(rf"{UNITS}/sovctl-swapproxy-{_NAME}\.service"),
    re.compile(rf"{FOLDER}/{_NAME}\.swap\.json"),
    re.compile(rf"{FOLDER}/{_NAME}\.swap\.conf"),
)
"""Files of a set, in the order of removal: its agent is stopped first, because it starts the servers again."""


@dataclass(frozen=True)
class SwapSet:
    """Servers that share the same GPUs of one node.

    Args:
        name: `assistants` for the first set of a swap group, `assistants.1` for the second.
        replicas: one of each pool, in the order of the file.
    """

    name: str
    replicas: tuple[Replica, ...]

    @property
    def agent(self) -> str:
        """systemd unit of the agent, without `.service`."""
        return f"sovctl-swap-{self.name}"

    @property
    def proxy(self) -> str:
        """systemd unit of the proxy, without `.service`."""
        return f"sovctl-swapproxy-{self.name}"

    @property
    def config(self) -> str:
        """Path of the agent's settings on the node."""
        return f"{FOLDER}/{self.name}.swap.json"

    @property
    def proxy_config(self) -> str:
        """Path of the proxy's configuration on the node."""
        return f"{FOLDER}/{self.name}.swap.conf"

    @property
    def folder(self) -> str:
        """Runtime folder of the agent: sockets, and one file for each open pool."""
        return f"/run/sovctl-swap-{self.name}"


def show_command(each: SwapSet) -> list[str]:
    """Return the command, for root on the node, that prints the state of a set as one JSON line."""
    return [PROGRAM, "--show", each.config]


def want_command(each: SwapSet, replica: Replica | None) -> list[str]:
    """Return the command that keeps a pool awake while no request waits for another; None leaves it to the calendar."""
    return [PROGRAM, "--want", "-" if replica is None else instance(replica), each.config]


def set_name(context: Context, replica: Replica) -> str | None:
    """Return the name of the set of a replica; None outside of swap groups."""
    group = context.pool(replica.pool).swap_group
    return group if group is None or replica.index == 0 else f"{group}.{replica.index}"


def sets_on(context: Context, node: Node) -> tuple[SwapSet, ...]:
    """Return the serving sets on a node, by the order of their first pools."""
    found: dict[str, list[Replica]] = {}
    for replica in context.serving_on(node):
        if name := set_name(context, replica):
            found.setdefault(name, []).append(replica)
    return tuple(SwapSet(name, tuple(replicas)) for name, replicas in found.items())


def agent_settings(context: Context, each: SwapSet) -> dict[str, Any]:
    """Return the settings of the agent of a set."""
    gpus = each.replicas[0].ranks[0].gpus
    query = "--query-gpu=index,memory.free,memory.total"
    indices = ",".join(map(str, gpus))
    return {
        "group": each.name,
        "engines": [_engine(context, replica) for replica in each.replicas],
        "memory": ["nvidia-smi", query, "--format=csv,noheader,nounits", f"--id={indices}"],
        "folder": each.folder,
        "state": f"/var/lib/sovctl/swap/{each.name}.json",
        "proxy_user": SERVER_USER,
        "hold_s": HOLD_S,
        "max_held": MAX_HELD,
        "lead_s": LEAD_S,
        "timezone": context.spec.sizing.autoscaling.timezone,
    }


def _engine(context: Context, replica: Replica) -> dict[str, Any]:
    pool = context.pool(replica.pool)
    return {
        "pool": instance(replica),
        "unit": f"{unit_name(replica)}.service",
        "socket": engine_socket(replica),
        "model": pool.model,
        "request": probe_request(context, pool),
        "gpus": len(replica.ranks[0].gpus),
        "utilization": pool.gpu_memory_utilization,
        "residue_mib": round(asleep_gib() * 1024),
        "start_timeout_s": start_timeout_s(context, replica),
        "awake_hours": [hours.model_dump(mode="json", include={"days", "start", "end"}) for hours in pool.awake_hours],
    }


def asleep_gib() -> float:
    """Return the memory of a GPU that a sleeping server keeps, GiB."""
    value = load_overheads().asleep_gib.value
    assert isinstance(value, int | float)
    return float(value)


def proxy_settings(context: Context, each: SwapSet) -> dict[str, Any]:
    """Return the variables of the proxy's configuration."""
    node = context.spec.node(each.replicas[0].head)
    return {
        "run": f"/run/{each.proxy}",
        "folder": each.folder,
        "address": str(node.address),
        "tls": TLS,
        "held_routes": list(HELD_ROUTES),
        "free_routes": list(FREE_ROUTES),
        "pools": [
            {"name": instance(replica), "port": replica.port, "socket": engine_socket(replica)}
            for replica in each.replicas
        ],
    }
