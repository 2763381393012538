"""Caches that are reckoned part by part, and not in pages of equal size: compressed entries, and what was heard. Pure.

Compressed attention (DeepSeek-V4) keeps a window of tokens in full, and of the rest one entry for several tokens,
beside which an indexer's smaller one lies. An encoder-decoder (Whisper) keeps what was heard, which is always as long,
beside what was said. vLLM gives such layers pages of several sizes; how they are padded is not reckoned, and no
start-up log was found to hold a count against: the sessions that fit are the most that can.

    compressed_cache(load_models()["deepseek-v4-pro"]).session_bytes(1 << 20) / GIB     # 9.62, as vLLM says

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

_COMPRESSED_BLOCK = 256  # tokens of a logical block of every kind of layer, `--block-size 256`
_ENTRY_FP8_BYTES = 584  # 448 numbers in FP8, 64 of the position in bf16, and 8 bytes of scales
_INDEX_FP8_BYTES = 132  # 128 numbers in FP8 and a scale


@dataclass(frozen=True, slots=True)
class CompositeCache(KvCache):
    """The sum of what every layer keeps of a session."""

    block: int = BLOCK_TOKENS
    """Tokens to which what grows is rounded up."""

    @property
    def how(self) -> str:
        """How sessions are counted, in words."""
        return f"KV cache / bytes of one session, in blocks of {self.block} tokens; pages of several sizes not reckoned"

    def session_bytes(
        self,
        tokens: int,
        *,
        tensor_parallel_size: int = 1,
        pipeline_parallel_size: int = 1,
        max_num_batched_tokens: int = 8192,  # noqa: ARG002 - as of any cache
        kv_cache_dtype_bytes: float = 2,
    ) -> int:
        """Bytes that one session of `tokens` holds on one rank; the fullest stage of a pipeline."""
        kept = ceil(tokens / self.block) * self.block
        return ceil(
            sum(
                ceil(group.layers / pipeline_parallel_size)
                * group.entries(kept)
                * group.rank_bytes(tensor_parallel_size, kv_cache_dtype_bytes)
                for group in self.groups
            )
        )

    def sessions(
        self,
        available_bytes: float,
        tokens: int,
        *,
        tensor_parallel_size: int = 1,
        pipeline_parallel_size: int = 1,
        max_num_batched_tokens: int = 8192,
        kv_cache_dtype_bytes: float = 2,
        has_hybrid_allocator: bool = True,  # noqa: ARG002 - as of any cache
    ) -> float:
        """How many sessions of `tokens` fit into `available_bytes` of each rank, at most."""
        return available_bytes / self.session_bytes(
            tokens,
            tensor_parallel_size=tensor_parallel_size,
            pipeline_parallel_size=pipeline_parallel_size,
            max_num_batched_tokens=max_num_batched_tokens,
            kv_cache_dtype_bytes=kv_cache_dtype_bytes,
        )


def compressed_cache(model: ModelEntry) -> CompositeCache:
    """Of a model whose layers keep one entry for several tokens.

    Raises:
        InputError: the catalogue does not know enough of its shape.
    """
    arch = model.arch
    if not arch.compressed or arch.layers is None or arch.head_dim is None or arch.window is None:
        raise InputError(f"expected an attention whose cache is known, got {model.attention}", where=model.id)
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
    """Of an encoder-decoder: in every layer of the decoder what was said, and what was heard.

    Raises:
        InputError: the catalogue does not know enough of its shape.
    """
    arch = model.arch
    if None in (arch.decoder_layers, arch.hidden, arch.heads, arch.audio_positions):
        raise InputError("expected an encoder-decoder whose shape is in the catalogue, got none", where=model.id)
    assert arch.decoder_layers is not None
    assert arch.hidden is not None
    assert arch.heads is not None
    both = 2 * arch.hidden // arch.heads
    said = LayerGroup(AttentionSpan.FULL, arch.decoder_layers, both, arch.heads)
    heard = LayerGroup(AttentionSpan.FIXED, arch.decoder_layers, both, arch.heads, arch.audio_positions or 0)
    return CompositeCache((said, heard))
