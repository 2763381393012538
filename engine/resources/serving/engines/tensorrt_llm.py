"""Flags of `trtllm-serve` for one replica, with its PyTorch backend. Not run.

The server listens on the loopback address, because it has no TLS. The proxy of `../proxy.py` requires certificates.

Source: NVIDIA/TensorRT-LLM 00209af, tensorrt_llm/commands/serve.py, `serve`.
"""

from __future__ import annotations

from ....placement import Rank, Replica
from ....spec.serving.section import FlagValue
from ...context import Context
from ...software.model import STORE
from ..proxy import LOOPBACK_ADDRESS, loopback_port


def flags(context: Context, replica: Replica, _rank: Rank) -> dict[str, FlagValue]:
    """Return the flags by name."""
    pool = context.pool(replica.pool)
    return {
        "model": f"{STORE}/{pool.model}",
        "host": LOOPBACK_ADDRESS,
        "port": loopback_port(replica),
        "backend": "pytorch",
        "max_seq_len": pool.max_model_len,
        "max_batch_size": pool.max_num_seqs,
        "tp_size": pool.tensor_parallel_size,
        "pp_size": pool.pipeline_parallel_size,
    }


def environment(context: Context, _replica: Replica, rank: Rank) -> dict[str, str]:
    """Return the variables that the unit sets."""
    return {**context.engine.variables, "CUDA_VISIBLE_DEVICES": ",".join(map(str, rank.gpus))}
