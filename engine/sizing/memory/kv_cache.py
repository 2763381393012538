"""KV cache of vLLM: blocks of 16 tokens, allocated per group of layers. Pure.

vLLM groups layers by attention span, and splits the groups to equal numbers of layers. Each group allocates blocks for
a request, and one block is one page in each layer of the group. A request of a sliding-window model therefore needs at
most the blocks of its window.

    cache = kv_cache(load_models()["gpt-oss-120b"])
    cache.log_tokens(57.24 * GIB, tensor_parallel_size=1, max_model_len=2068, max_num_batched_tokens=8192)
    # 825,6xx; "GPU KV cache size" in vLLM's log

Source: vLLM 0.22 `v1/core/kv_cache_utils.py` and `v1/kv_cache_interface.py`, within 1 % of
published start-up logs (tests/engine/sizing/test_kv_cache.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, inf

from sovctl.support.errors import InputError

from ...catalog.models import ModelEntry

BLOCK_TOKENS = 16  # vLLM's default block size on CUDA, `--block-size`
_CONVOLUTION = 3 * 2  # bytes per channel: a convolution of width 4 stores 3 columns in bf16


class AttentionSpan(StrEnum):
    """Which tokens of a request a layer's cache contains."""

    FULL = "full"  # all tokens
    WINDOW = "window"  # the tokens of a window or chunk
    STATE = "state"  # one state of fixed size
    FIXED = "fixed"  # a fixed number of entries, for every request


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers with the same attention span."""

    span: AttentionSpan
    layers: int
    elements: int
    """Values of one token in one layer and head, keys and values together; for a state, its bytes."""
    heads: int | None
    """Heads that tensor parallelism divides; None if every rank holds all values (latent attention)."""
    window: int = 0
    """Tokens of the window, or the fixed number of entries; else 0."""
    tokens_per_entry: int = 1
    """Tokens compressed into one entry; 1 without compression."""
    fp8_bytes: int | None = None
    """Bytes of one entry in FP8 with its scales; None: one byte per value."""

    def rank_bytes(self, tensor_parallel_size: int, kv_cache_dtype_bytes: float) -> float:
        """Return the bytes of one token (or one state) in one layer on one rank."""
        if kv_cache_dtype_bytes == 1 and self.fp8_bytes is not None:
            return self.fp8_bytes
        return self.rank_elements(tensor_parallel_size) * (
            1 if self.span is AttentionSpan.STATE else kv_cache_dtype_bytes
        )

    def entries(self, tokens: int) -> float:
        """Return the entries of a request of `tokens` in one layer and head."""
        if self.span in (AttentionSpan.STATE, AttentionSpan.FIXED):
            return max(1, self.window)
        held = min(self.window, tokens) if self.span is AttentionSpan.WINDOW else tokens
        return held / self.tokens_per_entry

    def rank_elements(self, tensor_parallel_size: int) -> int:
        """Return the values of one token (or one state) in one layer on one rank, at least those of one head."""
        if self.heads is None:
            return self.elements
        return self.elements * max(1, ceil(self.heads / tensor_parallel_size))

    def blocks(self, tokens: int, max_num_batched_tokens: int, block_tokens: int = BLOCK_TOKENS) -> int:
        """Return the maximum blocks of `block_tokens` for one request of `tokens` in one layer."""
        if self.span is AttentionSpan.STATE:
            return 1
        if self.span is AttentionSpan.WINDOW:
            held = min(self.window - 1 + max_num_batched_tokens, tokens)
            return ceil(held / block_tokens) + 1
        return ceil(tokens / block_tokens)


_EqualGroups = Sequence[tuple[LayerGroup, int]]
"""Groups split to equal size, each with its number of layers."""


@dataclass(frozen=True, slots=True)
class KvCache:
    """KV cache of one model."""

    groups: tuple[LayerGroup, ...]
    is_kept: bool = True
    """False for an encoder, which processes a text in one step (vLLM 0.32.0, EncoderOnlyAttentionSpec)."""

    @property
    def formula(self) -> str:
        """Formula for the number of sequences, as text."""
        return f"blocks of {BLOCK_TOKENS} tokens that fit / blocks of one session"

    def sequence_bytes(
        self,
        tokens: int,
        *,
        tensor_parallel_size: int = 1,
        pipeline_parallel_size: int = 1,
        max_num_batched_tokens: int = 8192,
        kv_cache_dtype_bytes: float = 2,
    ) -> int:
        """Return the bytes of one session of `tokens` on one rank of the fullest pipeline stage.

        Includes the padding layers of equal groups.

        Args:
            kv_cache_dtype_bytes: 2 for bf16, 1 for FP8.
        """
        if not self.is_kept:
            return 0
        equal = list(_equal_groups(self.groups, pipeline_parallel_size, has_hybrid_allocator=True))
        block = self._block_bytes(equal, tensor_parallel_size, kv_cache_dtype_bytes)
        return ceil(
            block * self._blocks(equal, tokens, tensor_parallel_size, max_num_batched_tokens, kv_cache_dtype_bytes)
        )

    def block_tokens(self, tensor_parallel_size: int, kv_cache_dtype_bytes: float) -> int:
        """Return the tokens of a block, a multiple of 16. In hybrid models a block is at least as large as a state.

        Source: vLLM 0.22 `model_executor/models/config.py`, hybrid models, read 2026-11-20.
        """
        states = [group for group in self.groups if group.span is AttentionSpan.STATE]
        tokens = [
            group.rank_bytes(tensor_parallel_size, kv_cache_dtype_bytes) for group in self.groups if group not in states
        ]
        if not states or not tokens:
            return BLOCK_TOKENS
        state = max(group.rank_bytes(tensor_parallel_size, kv_cache_dtype_bytes) for group in states)
        return ceil(state / min(tokens) / BLOCK_TOKENS) * BLOCK_TOKENS

    def token_bytes(
        self, *, tensor_parallel_size: int = 1, pipeline_parallel_size: int = 1, kv_cache_dtype_bytes: float = 2
    ) -> float:
        """Return the bytes of one more token of a long session, on one rank of the fullest pipeline stage."""
        return sum(
            ceil(group.layers / pipeline_parallel_size)
            * group.rank_bytes(tensor_parallel_size, kv_cache_dtype_bytes)
            / group.tokens_per_entry
            for group in self.groups
            if group.span is AttentionSpan.FULL
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
        has_hybrid_allocator: bool = True,
    ) -> float:
        """Return the sequences of `tokens` that fit into `available_bytes` on each rank; inf without a cache.

        Same arithmetic as vLLM's "Maximum concurrency".

        Args:
            has_hybrid_allocator: False (vLLM 0.10.1 on GPUs before Hopper): window layers store all tokens.
        """
        if not self.is_kept:
            return inf
        equal = list(_equal_groups(self.groups, pipeline_parallel_size, has_hybrid_allocator))
        blocks = available_bytes // self._block_bytes(equal, tensor_parallel_size, kv_cache_dtype_bytes)
        return blocks / self._blocks(equal, tokens, tensor_parallel_size, max_num_batched_tokens, kv_cache_dtype_bytes)

    def log_tokens(
        self,
        available_bytes: float,
        *,
        max_model_len: int,
        tensor_parallel_size: int = 1,
        pipeline_parallel_size: int = 1,
        max_num_batched_tokens: int = 8192,
        kv_cache_dtype_bytes: float = 2,
        has_hybrid_allocator: bool = True,
    ) -> int:
        """Return vLLM's "GPU KV cache size": `max_model_len` x the sequences of that length that fit, in tokens."""
        fitting = self.max_concurrency(
            available_bytes,
            max_model_len,
            tensor_parallel_size=tensor_parallel_size,
            pipeline_parallel_size=pipeline_parallel_size,
            max_num_batched_tokens=max_num_batched_tokens,
            kv_cache_dtype_bytes=kv_cache_dtype_bytes,
            has_hybrid_allocator=has_hybrid_allocator,
        )
        return int(fitting * max_model_len)

    def _block_bytes(self, equal: _EqualGroups, tensor_parallel_size: int, kv_cache_dtype_bytes: float) -> float:
        """Return the bytes of one block: one page in each layer of a group, with the largest page size."""
        page = max(self._page_bytes(group, tensor_parallel_size, kv_cache_dtype_bytes) for group, _ in equal)
        return page * max(layers for _, layers in equal)

    def _blocks(
        self,
        equal: _EqualGroups,
        tokens: int,
        tensor_parallel_size: int,
        max_num_batched_tokens: int,
        kv_cache_dtype_bytes: float,
    ) -> int:
        """Return the blocks of one session, over all groups."""
        block_tokens = self.block_tokens(tensor_parallel_size, kv_cache_dtype_bytes)
        return sum(group.blocks(tokens, max_num_batched_tokens, block_tokens) for group, _ in equal)

    def _page_bytes(self, group: LayerGroup, tensor_parallel_size: int, kv_cache_dtype_bytes: float) -> float:
        tokens = (
            1 if group.span is AttentionSpan.STATE else self.block_tokens(tensor_parallel_size, kv_cache_dtype_bytes)
        )
        return tokens * group.rank_bytes(tensor_parallel_size, kv_cache_dtype_bytes)


def _equal_groups(
    groups: tuple[LayerGroup, ...], pipeline_parallel_size: int, has_hybrid_allocator: bool
) -> Iterator[tuple[LayerGroup, int]]:
    """Yield the groups split to equal size as in vLLM, each with its number of layers; the last may be padded."""
    if not has_hybrid_allocator:
        groups = tuple(
            LayerGroup(AttentionSpan.FULL, group.layers, group.elements, group.heads)
            if group.span is AttentionSpan.WINDOW
            else group
            for group in groups
        )
        if len({(group.span, group.elements, group.heads) for group in groups}) == 1:
            first = groups[0]
            groups = (
                LayerGroup(AttentionSpan.FULL, sum(group.layers for group in groups), first.elements, first.heads),
            )
    counts = [ceil(group.layers / pipeline_parallel_size) for group in groups]
    size = max(counts) if max(counts) < 1.25 * min(counts) else min(counts)
    for group, count in zip(groups, counts, strict=True):
        for _ in range(ceil(count / size)):
            yield group, size


def paged_cache(model: ModelEntry) -> KvCache:
    """Return the cache of a model whose layers have pages of equal size; for any model see `cache_layout.kv_cache`.

    Raises:
        InputError: the catalogue lacks a figure of the model's shape.
    """
    arch = model.arch
    if arch.kv_lora_rank is not None:
        latent = arch.kv_lora_rank + (arch.qk_rope_head_dim or 0)
        return KvCache((LayerGroup(AttentionSpan.FULL, _known(model, "layers"), latent, None),))
    heads, head_dim, layers = _known(model, "kv_heads"), _known(model, "head_dim"), _known(model, "layers")
    return KvCache(tuple(_groups(model, layers, heads, 2 * head_dim)), is_kept=model.attention != "encoder")


def _groups(model: ModelEntry, layers: int, heads: int, elements: int) -> Iterator[LayerGroup]:
    arch = model.arch
    windows = arch.sliding_layers or arch.chunked_layers or 0
    window = arch.window or arch.attention_chunk_size or 0
    full = arch.full_attention_layers or arch.attention_layers or arch.global_layers
    full = full or layers - windows - (arch.linear_layers or 0) - (arch.mamba_layers or 0)
    if full and arch.global_kv_heads is not None:
        # Gemma 4 shares keys and values in its global layers (models.yaml, read 2026-11-20).
        yield LayerGroup(AttentionSpan.FULL, full, arch.global_head_dim or elements // 2, arch.global_kv_heads)
    elif full:
        yield LayerGroup(AttentionSpan.FULL, full, elements, heads)
    if windows:
        yield LayerGroup(AttentionSpan.WINDOW, windows, elements, heads, window)
    if arch.linear_layers and arch.linear_num_value_heads and arch.linear_head_dim:
        size, values = arch.linear_head_dim, arch.linear_num_value_heads
        mixed = size * (2 * (arch.linear_num_key_heads or 0) + values)
        per_head = size * size * arch.state_bytes + ceil(_CONVOLUTION * mixed / values)
        yield LayerGroup(AttentionSpan.STATE, arch.linear_layers, per_head, values)
    if arch.mamba_layers and arch.mamba_heads and arch.mamba_head_dim and arch.mamba_state:
        inner = arch.mamba_heads * arch.mamba_head_dim
        mixed = inner + 2 * (arch.mamba_groups or 0) * arch.mamba_state
        per_head = arch.mamba_head_dim * arch.mamba_state * arch.state_bytes + ceil(
            _CONVOLUTION * mixed / arch.mamba_heads
        )
        yield LayerGroup(AttentionSpan.STATE, arch.mamba_layers, per_head, arch.mamba_heads)


def _known(model: ModelEntry, field: str) -> int:
    value = getattr(model.arch, field)
    if value is None:
        raise InputError(f"the catalogue lacks `{field}` of this model", where=model.id)
    return int(value)
