"""GPU memory of LoRA adapters. vLLM allocates it before an adapter is loaded.

- For every linear layer vLLM allocates a matrix A (rank x inputs) and a matrix B (outputs x rank), even if an adapter
  does not change the layer. Each expert has its own A and B.
- Without `fully_sharded_loras`, tensor parallelism divides one of the two: B of a layer whose outputs are divided, A of
  a layer whose inputs are divided. The memory per GPU is therefore larger than the total / tensor_parallel_size.

Source: vllm/lora/layers, base_linear.py and fused_moe.py, read 2026-11-22.

    adapter_bytes(weights, 16, tensor_parallel_size=2)
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from ...catalog.models import Arch
from .weights import Weights

_BF16_BYTES = 2


def adapter_bytes(
    weights: Weights, rank: int, *, tensor_parallel_size: int = 1, pipeline_parallel_size: int = 1
) -> float:
    """Return the bytes of one bf16 adapter on the fullest GPU, without layers whose shape is unknown."""
    arch = weights.model.arch
    if arch.layers is None or arch.hidden is None:
        return 0.0
    attention = arch.layers * sum(_attention(arch, tensor_parallel_size))
    mlp = 0.0
    experts_layers = arch.moe.layers if arch.moe else 0
    if arch.ffn:
        mlp += (arch.layers - experts_layers) * _mlp(arch, arch.hidden, arch.ffn, tensor_parallel_size)
    if arch.moe is not None:
        width = arch.moe.latent or arch.hidden
        mlp += experts_layers * arch.moe.experts * _mlp(arch, width, arch.moe.ffn, tensor_parallel_size)
        if arch.moe.shared_ffn:
            mlp += experts_layers * _mlp(arch, arch.hidden, arch.moe.shared_ffn, tensor_parallel_size)
    stage = ceil(arch.layers / pipeline_parallel_size) / arch.layers
    return rank * (attention + mlp) * stage * _BF16_BYTES


def _attention(arch: Arch, tensor_parallel_size: int) -> Iterator[float]:
    """Yield the values per LoRA rank of each attention matrix of one layer."""
    hidden, heads = arch.hidden or 0, arch.heads or 0
    if arch.kv_lora_rank:
        query = heads * ((arch.qk_nope_head_dim or 0) + (arch.qk_rope_head_dim or 0))
        if arch.q_lora_rank:
            yield hidden + arch.q_lora_rank
        yield (arch.q_lora_rank or hidden) + query / tensor_parallel_size
        yield hidden + arch.kv_lora_rank + (arch.qk_rope_head_dim or 0)
        yield arch.kv_lora_rank + heads * ((arch.qk_nope_head_dim or 0) + (arch.v_head_dim or 0)) / tensor_parallel_size
        yield heads * (arch.v_head_dim or 0) / tensor_parallel_size + hidden
        return
    head_dim, kv_heads = arch.head_dim or 0, arch.kv_heads or 0
    yield hidden + heads * head_dim / tensor_parallel_size
    yield 2 * (hidden + ceil(kv_heads / tensor_parallel_size) * head_dim)
    yield heads * head_dim / tensor_parallel_size + hidden


def _mlp(arch: Arch, hidden: int, ffn: int, tensor_parallel_size: int) -> float:
    """Return the values per LoRA rank of the input matrices and the output matrix."""
    return (2 if arch.is_gated else 1) * (hidden + ffn / tensor_parallel_size) + ffn / tensor_parallel_size + hidden
