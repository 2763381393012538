"""KV caches computed as a sum over layers: compressed attention and cross-attention. Pure.

- Compressed attention (DeepSeek-V4) stores a window of tokens in full. For older tokens it stores one entry per several
  tokens, and a smaller entry of an indexer.
- An encoder-decoder (Whisper) stores the encoder's output, which has a fixed length, and the decoder's tokens.

vLLM uses pages of several sizes for such layers. Their padding is not modelled, and no published start-up log was found
to compare with. The number of sequences is therefore an upper bound.

    compressed_cache(load_models()["deepseek-v4-pro"]).sequence_bytes(1 << 20) / GIB     # 9.62, as published by vLLM

Source of the layout and of 9.62 GiB for a session of 1,048,576 tokens in bf16: the vLLM team, "DeepSeek V4 in vLLM:
Efficient Long-context Attention", 2026-04-24 (read 2026-11-22); 584 and 132 bytes an entry in FP8: vLLM 0.32.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from sovctl.support.errors import InputError

from ...catalog.models import ModelEntry
from .kv_cache import BLOCK_TOKENS, AttentionSpan, KvCache, LayerGroup

_COMPRESSED_BLOCK = 256  # tokens of a logical block in every layer, `--block-size 256`
_ENTRY_FP8_BYTES = 584  # 448 values in FP8, 64 positional values in bf16, 8 bytes of scales
_INDEX_FP8_BYTES = 132  # 128 values in FP8 and a 4-byte scale


@dataclass(frozen=True, slots=True)
class CompositeCache(KvCache):
    """A cache whose size is the sum of the entries of every layer."""

    block: int = BLOCK_TOKENS
    """Tokens of a block; lengths are rounded up to whole blocks."""

    @property
    def formula(self) -> str:
        """Formula for the number of sequences, as text."""
        return f"KV cache / bytes of one session, in blocks of {self.block} tokens; padding of pages is not modelled"

    def sequence_bytes(
        self,
        tokens: int,
        *,
        tensor_parallel_size: int = 1,
        pipeline_parallel_size: int = 1,
        max_num_batched_tokens: int = 8192,  # noqa: ARG002 - signature of KvCache
        kv_cache_dtype_bytes: float = 2,
    ) -> int:
        """Return the bytes of one session of `tokens` on one rank of the fullest pipeline stage."""
        kept = ceil(tokens / self.block) * self.block
        return ceil(
            sum(
                ceil(group.layers / pipeline_parallel_size)
                * group.entries(kept)
                * group.rank_bytes(tensor_parallel_size, kv_cache_dtype_bytes)
                for group in self.groups
            )
        )

    def max_concurrency(
        self,
        available_bytes: float,
        tokens: int,
        *,
        tensor_parallel_size: int = 1,
        pipeline_parallel_size: int = 1,
        max_num_batched_tokens: int = 8192,
        kv_cache_dtype_bytes: float = 2,
        has_hybrid_allocator: bool = True,  # noqa: ARG002 - signature of KvCache
    ) -> float:
        """Return the upper bound of sequences of `tokens` that fit into `available_bytes` on each rank."""
        return available_bytes / self.sequence_bytes(
            tokens,
            tensor_parallel_size=tensor_parallel_size,
            pipeline_parallel_size=pipeline_parallel_size,
            max_num_batched_tokens=max_num_batched_tokens,
            kv_cache_dtype_bytes=kv_cache_dtype_bytes,
        )


def compressed_cache(model: ModelEntry) -> CompositeCache:
    """Return the cache of a model with compressed attention.

    Raises:
        InputError: the catalogue lacks a figure of the model's shape.
    """
    arch = model.arch
    if not arch.compressed or arch.layers is None or arch.head_dim is None or arch.window is None:
        raise InputError(f"unknown KV cache layout: attention {model.attention}", where=model.id)
    return CompositeCache(tuple(_compressed(model, arch.layers, arch.head_dim, arch.window)), block=_COMPRESSED_BLOCK)


def _compressed(model: ModelEntry, layers: int, width: int, window: int) -> Iterator[LayerGroup]:
    yield LayerGroup(AttentionSpan.WINDOW, layers, width, None, window, fp8_bytes=_ENTRY_FP8_BYTES)
    for part in model.arch.compressed:
        yield LayerGroup(
            AttentionSpan.FULL, part.layers, width, None, tokens_per_entry=part.ratio, fp8_bytes=_ENTRY_FP8_BYTES
        )
        if part.indexer:
            yield LayerGroup(
                AttentionSpan.FULL,
                part.layers,
                part.indexer,
                None,
                tokens_per_entry=part.ratio,
                fp8_bytes=_INDEX_FP8_BYTES,
            )


def cross_attention_cache(model: ModelEntry) -> CompositeCache:
    """Return the cache of an encoder-decoder: self-attention and cross-attention of every decoder layer.

    Raises:
        InputError: the catalogue lacks a figure of the model's shape.
    """
    arch = model.arch
    if None in (arch.decoder_layers, arch.hidden, arch.heads, arch.audio_positions):
        raise InputError("the catalogue lacks decoder_layers, hidden, heads or audio_positions", where=model.id)
    assert arch.decoder_layers is not None
    assert arch.hidden is not None
    assert arch.heads is not None
    elements = 2 * arch.hidden // arch.heads
    own = LayerGroup(AttentionSpan.FULL, arch.decoder_layers, elements, arch.heads)
    cross = LayerGroup(AttentionSpan.FIXED, arch.decoder_layers, elements, arch.heads, arch.audio_positions or 0)
    return CompositeCache((own, cross))
