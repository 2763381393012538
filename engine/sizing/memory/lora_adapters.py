"""What one LoRA adapter takes on a GPU, as vLLM lays it out before any adapter is loaded.

For every linear layer vLLM keeps a matrix A (rank x inputs) and a matrix B (outputs x rank), whichever layers an
adapter has. Tensor parallelism divides only the one of the two that lies on the divided side (without
`fully_sharded_loras`): B where outputs are divided, A where inputs are. So eight GPUs do not hold an eighth each.
Experts have their own A and B each (vllm/lora/layers: base_linear.py, fused_moe.py; read 2026-11-22).

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
    """Bytes of one adapter on the fullest GPU, bf16; layers whose shape the catalogue does not know are left out."""
    arch, tensor = weights.model.arch, tensor_parallel_size
    if arch.layers is None or arch.hidden is None:
        return 0.0
    attention = arch.layers * sum(_attention(arch, tensor))
    mlp = 0.0
    experts_layers = arch.moe.layers if arch.moe else 0
    if arch.ffn:
        mlp += (arch.layers - experts_layers) * _mlp(arch, arch.hidden, arch.ffn, tensor)
    if arch.moe is not None:
        width = arch.moe.latent or arch.hidden
        mlp += experts_layers * arch.moe.experts * _mlp(arch, width, arch.moe.ffn, tensor)
        if arch.moe.shared_ffn:
            mlp += experts_layers * _mlp(arch, arch.hidden, arch.moe.shared_ffn, tensor)
    stage = ceil(arch.layers / pipeline_parallel_size) / arch.layers
    return rank * (attention + mlp) * stage * _BF16_BYTES


def _attention(arch: Arch, tensor: int) -> Iterator[float]:
    """Numbers per rank of each matrix of one layer's attention."""
    hidden, heads = arch.hidden or 0, arch.heads or 0
    if arch.kv_lora_rank:
        query = heads * ((arch.qk_nope_head_dim or 0) + (arch.qk_rope_head_dim or 0))
        if arch.q_lora_rank:
            yield hidden + arch.q_lora_rank
        yield (arch.q_lora_rank or hidden) + query / tensor
        yield hidden + arch.kv_lora_rank + (arch.qk_rope_head_dim or 0)
        yield arch.kv_lora_rank + heads * ((arch.qk_nope_head_dim or 0) + (arch.v_head_dim or 0)) / tensor
        yield heads * (arch.v_head_dim or 0) / tensor + hidden
        return
    head_dim, kv_heads = arch.head_dim or 0, arch.kv_heads or 0
    yield hidden + heads * head_dim / tensor
    yield 2 * (hidden + ceil(kv_heads / tensor) * head_dim)
    yield heads * head_dim / tensor + hidden


def _mlp(arch: Arch, hidden: int, ffn: int, tensor: int) -> float:
    """Numbers per rank of the matrices in, and of the one out."""
    return (2 if arch.is_gated else 1) * (hidden + ffn / tensor) + ffn / tensor + hidden
