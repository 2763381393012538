"""vLLM pools: one systemd unit per rank, flags as in site.yaml, restarted together.

The state holds every flag by its own name, so that a flag changed by hand is named in the plan. Flags and defaults:
vLLM 0.32.0, `vllm serve --help=all`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from sovctl.compliance.canonical import sha256_hex
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.placement import Rank, Replica
from sovctl.engine.plan.context import Context, render
from sovctl.engine.plan.kinds.credential import TLS
from sovctl.engine.plan.kinds.environment import ENGINE, stamp
from sovctl.engine.plan.kinds.kind import Kind, Look
from sovctl.engine.plan.kinds.model import STORE
from sovctl.engine.plan.resource import Desired, Risk, State
from sovctl.engine.spec import Node

FOLDER = "/etc/sovctl/pools"
UNITS = "/etc/systemd/system"
MASTER_PORT = 29501
"""Where ranks on several nodes meet; vLLM's default --master-port."""
START_TIMEOUT_S = 900
SHUTDOWN_TIMEOUT_S = 60
"""Requests under way may finish; llm-d uses 60 s with a grace of 90 s."""

# Flags that go from a pool to vLLM unchanged, where they are set.
SAME_NAME = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "max_model_len",
    "max_num_seqs",
    "max_num_queued_reqs",
    "kv_cache_dtype",
    "dtype",
    "quantization",
    "enforce_eager",
)


def instance(replica: Replica) -> str:
    """Name of a replica on its nodes: the pool's, numbered from the second replica on."""
    return replica.pool if replica.index == 0 else f"{replica.pool}-{replica.index}"


def unit_name(replica: Replica) -> str:
    """The systemd unit of a replica's rank on a node, without `.service`."""
    return f"sovctl-pool-{instance(replica)}"


def flags(context: Context, replica: Replica, rank: Rank) -> dict[str, Any]:
    """What `vllm serve` is told, by flag name; the order is the file's."""
    pool = context.pool(replica.pool)
    head = context.spec.node(replica.head)
    chosen: dict[str, Any] = {
        "model": f"{STORE}/{pool.model}",
        "served-model-name": pool.model,
        "host": str(context.spec.node(rank.node).address),
        "port": replica.port,
    }
    for name in SAME_NAME:
        value = getattr(pool, name)
        if value is not None and value is not False:
            chosen[name.replace("_", "-")] = value
    if pool.kv_cache_memory_bytes is not None:
        chosen["kv-cache-memory-bytes"] = pool.kv_cache_memory_bytes
    else:
        chosen["gpu-memory-utilization"] = pool.gpu_memory_utilization
    if len(replica.ranks) > 1:
        chosen |= {
            "nnodes": len(replica.ranks),
            "node-rank": rank.node_rank,
            "master-addr": str(head.address),
            # Ranks of another replica with the same head meet elsewhere: ports of replicas on a node differ.
            "master-port": MASTER_PORT + replica.port - pool.port,
        }
        if rank.node_rank > 0:
            chosen["headless"] = True
    return chosen | {
        "ssl-certfile": f"{TLS}/node.pem",
        "ssl-keyfile": f"{TLS}/node.key",
        "ssl-ca-certs": f"{TLS}/ca.pem",
        "ssl-cert-reqs": 2,  # a client certificate is required; ssl.CERT_REQUIRED
        "disable-uvicorn-access-log": True,
        "disable-fastapi-docs": True,
        "shutdown-timeout": SHUTDOWN_TIMEOUT_S,
    }


def environment(context: Context, rank: Rank) -> dict[str, str]:
    """Environment of the server: no network but ours, and the GPUs that were given to it."""
    address = str(context.spec.node(rank.node).address)
    chosen = {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_HOST_IP": address,  # unset, vLLM asks the kernel for the route to 8.8.8.8
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "120",  # longer than the gateway keeps idle connections
    }
    if context.spec.software.engine == "vllm-cpu":
        # One core per rank; automatic binding asserts where there is one NUMA node.
        chosen["VLLM_CPU_OMP_THREADS_BIND"] = "|".join(str(index) for index in range(len(rank.gpus)))
        chosen["OMP_NUM_THREADS"] = "1"
        chosen["TORCH_COMPILE_DISABLE"] = "1"  # nodes have no compiler
    else:
        chosen["CUDA_VISIBLE_DEVICES"] = ",".join(str(gpu) for gpu in rank.gpus)
    return chosen


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    for replica in context.replicas_on(node):
        rank = next(rank for rank in replica.ranks if rank.node == node.name)
        name, pool = instance(replica), context.pool(replica.pool)
        chosen = flags(context, replica, rank)
        variables = {
            "unit": unit_name(replica),
            "flags": chosen,
            "environment": environment(context, rank),
            "is_head": rank.node_rank == 0,
            "url": f"https://{context.spec.node(replica.head).address}:{replica.port}/v1",
            "model": pool.model,
            "start_timeout_s": START_TIMEOUT_S,
            "stop_timeout_s": SHUTDOWN_TIMEOUT_S + 30,
        }
        unit_text = render("pool", "unit.service.j2", item={"name": name, **variables})
        yield Desired(
            kind="pool",
            name=name,
            state={
                **chosen,
                "unit_sha256": sha256_hex(unit_text),
                "active": "active",
                "enabled": "enabled",
                "runs_what_is_written": True,
            },
            why=f"{pool.model}, {pool.tensor_parallel_size} GPUs by tensor parallelism"
            + (f", {len(replica.ranks)} nodes by pipeline" if len(replica.ranks) > 1 else ""),
            variables=variables,
            risk=Risk.WORKLOAD,
            minutes=1.5,
        )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    config_file, unit_file = _files(desired.name)
    text = facts.texts.get(config_file)
    unit = facts.units.get(desired.variables["unit"])
    if text is None:
        return None
    try:
        written = yaml.safe_load(text)
    except yaml.YAMLError:
        written = {}
    observed = dict(written) if isinstance(written, dict) else {}
    changed_s = max(facts.modified_s(path) for path in (config_file, unit_file, stamp(ENGINE), f"{TLS}/node.pem"))
    return {
        **observed,
        "unit_sha256": facts.sha256(unit_file),
        "active": unit.active if unit else None,
        "enabled": unit.enabled if unit else None,
        # Unit times are whole seconds: a restart in the second of the last write counts as after it.
        "runs_what_is_written": bool(unit and unit.started_s >= int(changed_s)),
    }


def _files(name: str) -> tuple[str, str]:
    return f"{FOLDER}/{name}.yaml", f"{UNITS}/sovctl-pool-{name}.service"


def _look(context: Context, node: Node) -> Look:
    names = [instance(each) for each in context.replicas_on(node)]
    files = [path for name in names for path in _files(name)]
    return Look(
        hash=(*files, stamp(ENGINE), f"{TLS}/*"),
        read=tuple(f"{FOLDER}/{name}.yaml" for name in names),
        units=tuple(f"sovctl-pool-{name}" for name in names),
    )


KIND = Kind("pool", _expect, _observe, _look)
