"""The KV cache as vLLM lays it out: blocks of 16 tokens, layers in groups, windows that stop growing.

A model's layers fall into groups by how their cache grows. vLLM cuts the groups to equal size, gives every group's
share of a request its own blocks, and one block number means one page in each layer of a group. What fits follows
from that, not from bytes per token: a request of a sliding window model costs a window's blocks however long it is.

    cache = kv_cache(load_models()["gpt-oss-120b"])
    cache.log_tokens(57.24 * GIB, tensor_parallel_size=1, max_model_len=2068, max_num_batched_tokens=8192)
    # 825,6xx: what vLLM's log calls "GPU KV cache size"

Source: vLLM 0.22 `v1/core/kv_cache_utils.py` and `v1/kv_cache_interface.py`, held to published start-up logs within
1 % (tests/engine/sizing/test_kv_cache.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, inf

from sovctl.support.errors import InputError

from ...catalog.models import ModelEntry

BLOCK_TOKENS = 16  # vLLM's default block size on CUDA, `--block-size`
_CONVOLUTION = 3 * 2  # bytes of a channel: a short convolution of width 4 remembers three columns, in bf16


class AttentionSpan(StrEnum):
    """How a layer's cache grows with a request."""

    FULL = "full"  # with every token
    WINDOW = "window"  # up to a window or chunk
    STATE = "state"  # not at all: a state of fixed size
    FIXED = "fixed"  # not at all: as many entries for every request


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers whose cache grows alike."""

    span: AttentionSpan
    layers: int
    elements: int
    """Numbers kept for one token in one layer and one head, keys and values together; for a state, bytes of one."""
    heads: int | None
    """Heads that tensor parallelism divides; None when every rank holds the whole, as for latent attention."""
    window: int = 0
    """Tokens; 0 unless the growth is a window, or a fixed number of entries."""
    tokens_per_entry: int = 1
    """More than 1 where several tokens are kept as one."""
    fp8_bytes: int | None = None
    """Of one entry in FP8 with its scales, where it is not a byte a number."""

    def rank_bytes(self, tensor_parallel_size: int, kv_cache_dtype_bytes: float) -> float:
        """Bytes kept for one token (or one state) in one layer on one rank."""
        if kv_cache_dtype_bytes == 1 and self.fp8_bytes is not None:
            return self.fp8_bytes
        return self.rank_elements(tensor_parallel_size) * (
            1 if self.span is AttentionSpan.STATE else kv_cache_dtype_bytes
        )

    def entries(self, tokens: int) -> float:
        """Kept of a request of `tokens` in one layer and one head."""
        if self.span in (AttentionSpan.STATE, AttentionSpan.FIXED):
            return max(1, self.window)
        held = min(self.window, tokens) if self.span is AttentionSpan.WINDOW else tokens
        return held / self.tokens_per_entry

    def rank_elements(self, tensor_parallel_size: int) -> int:
        """Numbers kept for one token (or one state) in one layer on one rank; no rank holds less than a head."""
        if self.heads is None:
            return self.elements
        return self.elements * max(1, ceil(self.heads / tensor_parallel_size))

    def blocks(self, tokens: int, max_num_batched_tokens: int, block_tokens: int = BLOCK_TOKENS) -> int:
        """Blocks of `block_tokens` that one request of `tokens` holds in one layer at most."""
        if self.span is AttentionSpan.STATE:
            return 1
        if self.span is AttentionSpan.WINDOW:
            held = min(self.window - 1 + max_num_batched_tokens, tokens)
            return ceil(held / block_tokens) + 1
        return ceil(tokens / block_tokens)


_Pieces = Sequence[tuple[LayerGroup, int]]
"""Groups cut to equal size, each with its number of layers."""


@dataclass(frozen=True, slots=True)
class KvCache:
    """The cache of one model."""

    groups: tuple[LayerGroup, ...]
    is_kept: bool = True
    """False for an encoder, which is done with a text in one step: vLLM 0.32.0, EncoderOnlyAttentionSpec."""

    @property
    def how(self) -> str:
        """How sessions are counted, in words."""
        return f"blocks of {BLOCK_TOKENS} tokens that fit / blocks of one session"

    def session_bytes(
        self,
        tokens: int,
        *,
        tensor_parallel_size: int = 1,
        pipeline_parallel_size: int = 1,
        max_num_batched_tokens: int = 8192,
        kv_cache_dtype_bytes: float = 2,
    ) -> int:
        """Bytes that one session of `tokens` holds on one rank, with the layers that equal groups are padded by; the
        fullest stage of a pipeline.

        Args:
            kv_cache_dtype_bytes: 2 for bf16, 1 for FP8.
        """
        if not self.is_kept:
            return 0
        pieces = list(_equal(self.groups, pipeline_parallel_size, has_hybrid_allocator=True))
        block = self._block_bytes(pieces, tensor_parallel_size, kv_cache_dtype_bytes)
        return ceil(
            block * self._blocks(pieces, tokens, tensor_parallel_size, max_num_batched_tokens, kv_cache_dtype_bytes)
        )

    def block_tokens(self, tensor_parallel_size: int, kv_cache_dtype_bytes: float) -> int:
        """Tokens of a block: as many as make it as large as a state, where layers keep states; a multiple of 16.

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
        """Bytes that one more token of a long session costs on one rank; the fullest stage of a pipeline."""
        return sum(
            ceil(group.layers / pipeline_parallel_size)
            * group.rank_bytes(tensor_parallel_size, kv_cache_dtype_bytes)
            / group.tokens_per_entry
            for group in self.groups
            if group.span is AttentionSpan.FULL
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
        has_hybrid_allocator: bool = True,
    ) -> float:
        """How many sessions of `tokens` fit into `available_bytes` of each rank, as vLLM computes it; inf if not kept.

        Args:
            has_hybrid_allocator: without it (vLLM 0.10.1 on GPUs before Hopper) windows are kept in full.
        """
        if not self.is_kept:
            return inf
        pieces = list(_equal(self.groups, pipeline_parallel_size, has_hybrid_allocator))
        blocks = available_bytes // self._block_bytes(pieces, tensor_parallel_size, kv_cache_dtype_bytes)
        return blocks / self._blocks(pieces, tokens, tensor_parallel_size, max_num_batched_tokens, kv_cache_dtype_bytes)

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
        """vLLM's "GPU KV cache size": tokens in as many sessions of `max_model_len` as fit."""
        fitting = self.sessions(
            available_bytes,
            max_model_len,
            tensor_parallel_size=tensor_parallel_size,
            pipeline_parallel_size=pipeline_parallel_size,
            max_num_batched_tokens=max_num_batched_tokens,
            kv_cache_dtype_bytes=kv_cache_dtype_bytes,
            has_hybrid_allocator=has_hybrid_allocator,
        )
        return int(fitting * max_model_len)

    def _block_bytes(self, pieces: _Pieces, tensor_parallel_size: int, kv_cache_dtype_bytes: float) -> float:
        """One block number: a page in each layer of a group, as large as the largest."""
        page = max(self._page_bytes(group, tensor_parallel_size, kv_cache_dtype_bytes) for group, _ in pieces)
        return page * max(layers for _, layers in pieces)

    def _blocks(
        self,
        pieces: _Pieces,
        tokens: int,
        tensor_parallel_size: int,
        max_num_batched_tokens: int,
        kv_cache_dtype_bytes: float,
    ) -> int:
        """Block numbers that one session takes, of all groups."""
        block_tokens = self.block_tokens(tensor_parallel_size, kv_cache_dtype_bytes)
        return sum(group.blocks(tokens, max_num_batched_tokens, block_tokens) for group, _ in pieces)

    def _page_bytes(self, group: LayerGroup, tensor_parallel_size: int, kv_cache_dtype_bytes: float) -> float:
        tokens = (
            1 if group.span is AttentionSpan.STATE else self.block_tokens(tensor_parallel_size, kv_cache_dtype_bytes)
        )
        return tokens * group.rank_bytes(tensor_parallel_size, kv_cache_dtype_bytes)


def _equal(
    groups: tuple[LayerGroup, ...], pipeline_parallel_size: int, has_hybrid_allocator: bool
) -> Iterator[tuple[LayerGroup, int]]:
    """The groups cut to equal size, as vLLM does, each with its number of layers; the last one may be padded."""
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
    """The cache of a model in the catalogue whose layers have pages of equal size; of any, see `caches.kv_cache`.

    Raises:
        InputError: the catalogue does not know enough of its shape.
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
        # Gemma 4 keeps keys and values of its global layers as one (models.yaml, read 2026-11-20).
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
        raise InputError(f"expected a model whose {field} is in the catalogue, got none", where=model.id)
    return int(value)
