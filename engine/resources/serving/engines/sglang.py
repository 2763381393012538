"""Flags of `python -m sglang.launch_server` for one rank of a replica. Not run.

- The server listens on the loopback address, because its clients would need no certificate. The proxy of `../proxy.py`
  requires one.
- Prompts are not cached across requests (`disable-radix-cache`): the cache has no salt by tenant.

Source: sgl-project/sglang 004813e, docs/advanced_features/server_arguments.md.
"""

from __future__ import annotations

from ....placement import Rank, Replica
from ....spec import Pool
from ....spec.serving.section import FlagValue
from ...context import Context
from ...software.model import STORE
from ..proxy import LOOPBACK_ADDRESS, loopback_port
from ..rank_ports import ports_of


def flags(context: Context, replica: Replica, rank: Rank) -> dict[str, FlagValue]:
    """Return the flags by name."""
    pool = context.pool(replica.pool)
    return {
        "model": f"{STORE}/{pool.model}",
        "served-model-name": pool.model,
        "host": LOOPBACK_ADDRESS,
        "port": loopback_port(replica),
        "context-length": pool.max_model_len,
        "max-running-requests": pool.max_num_seqs,
        "max-queued-requests": pool.max_num_queued_reqs,
        "enable-metrics": True,
        "disable-radix-cache": True,
        **_layout(context, replica, rank, pool),
        **_model_flags(context, pool),
    }


def environment(context: Context, _replica: Replica, rank: Rank) -> dict[str, str]:
    """Return the variables that the unit sets."""
    return {**context.engine.variables, "CUDA_VISIBLE_DEVICES": ",".join(map(str, rank.gpus))}


def _layout(context: Context, replica: Replica, rank: Rank, pool: Pool) -> dict[str, FlagValue]:
    found: dict[str, FlagValue] = {
        "tensor-parallel-size": pool.tensor_parallel_size,
        "pipeline-parallel-size": pool.pipeline_parallel_size,
    }
    if len(replica.ranks) > 1:
        address = context.spec.node(replica.head).address
        found |= {
            "nnodes": len(replica.ranks),
            "node-rank": rank.node_rank,
            "dist-init-addr": f"{address}:{ports_of(context, replica).engine}",
        }
    return found


def _model_flags(context: Context, pool: Pool) -> dict[str, FlagValue]:
    found: dict[str, FlagValue] = {}
    if context.models[context.model(pool.model).catalog].role == "embedding":
        found["is-embedding"] = True
    if pool.dtype != "auto":
        found["dtype"] = pool.dtype
    if pool.kv_cache_dtype != "auto":
        # "fp8" is vLLM's name of fp8_e4m3.
        found["kv-cache-dtype"] = "fp8_e4m3" if pool.kv_cache_dtype == "fp8" else pool.kv_cache_dtype
    if pool.quantization is not None:
        found["quantization"] = pool.quantization
    if pool.enforce_eager:
        found["disable-cuda-graph"] = True
    if pool.lora is not None:
        found |= {
            "enable-lora": True,
            "max-lora-rank": pool.lora.max_lora_rank,
            "max-loras-per-batch": pool.lora.max_loras,
            "lora-paths": [f"{each.name}={STORE}/{each.name}" for each in pool.lora.adapters],
        }
    return found
