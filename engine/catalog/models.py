"""Open-weight models: architecture, context, languages, licence, and names of vLLM's parsers.

model = load_models()["llama-3.3-70b"]
model.arch.heads, model.licence.needs_approval
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .figure import Amount, CatalogModel, Count, Sourced, Sources, read_entries


class Params(CatalogModel):
    """Number of parameters; `active`: the parameters used for one token."""

    published_total_b: Amount
    """Published number in 1e9."""
    published_active_b: Amount
    computed_total: int | None = None
    """Number computed from the architecture."""
    computed_active: int | None = None
    outside_shape_b: float = 0.0
    """Published parameters outside `arch`, such as a vision tower, in 1e9."""


class MoE(CatalogModel):
    """Mixture of experts."""

    layers: Count
    experts: Count
    top_k: Count
    ffn: Count
    """Intermediate size of one expert."""
    shared_ffn: Count | None = None
    """Intermediate size of the shared expert, which runs for every token."""
    latent: Count | None = None
    """Hidden size of experts, if it differs from the model's."""
    fp8_block: Count | None = None
    """Block size of the FP8 checkpoint. The intermediate size of a rank must be a multiple of it."""


class Compressed(CatalogModel):
    """Layers with one KV cache entry for several tokens."""

    ratio: Count
    """Tokens per entry."""
    layers: Count
    indexer: Count | None = None
    """Size of the index entry, which selects the relevant entries."""


class Arch(CatalogModel):
    """Architecture; absent values are unknown."""

    layers: Count | None = None
    hidden: Count | None = None
    heads: Count | None = None
    kv_heads: Count | None = None
    head_dim: Count | None = None
    ffn: Annotated[int, Field(ge=0)] | None = None
    """Intermediate size of dense layers; 0 without dense layers."""
    vocab: Count | None = None
    tied: bool | None = None
    """Whether the input embedding is also the output layer."""
    moe: MoE | None = None
    attention_chunk_size: Count | None = None
    chunked_layers: Count | None = None
    full_attention_layers: Count | None = None
    attention_layers: Count | None = None
    sliding_layers: Count | None = None
    window: Count | None = None
    global_layers: Count | None = None
    global_kv_heads: Count | None = None
    global_head_dim: Count | None = None
    linear_layers: Count | None = None
    linear_num_value_heads: Count | None = None
    linear_num_key_heads: Count | None = None
    linear_head_dim: Count | None = None
    mamba_layers: Count | None = None
    mamba_heads: Count | None = None
    mamba_head_dim: Count | None = None
    mamba_groups: Count | None = None
    mamba_state: Count | None = None
    state_bytes: Count = 2
    """Bytes per number in the state of linear attention or state-space layers, independent of `kv_cache_dtype`."""
    kv_lora_rank: Count | None = None
    q_lora_rank: Count | None = None
    compressed: tuple[Compressed, ...] = ()
    """Compressed layers; every layer also keeps a window of uncompressed tokens."""
    qk_rope_head_dim: Count | None = None
    qk_nope_head_dim: Count | None = None
    v_head_dim: Count | None = None
    o_lora_rank: Count | None = None
    o_groups: Count | None = None
    has_attention_gate: bool = False
    """Whether a gate doubles the query projection."""
    is_gated: bool = True
    """Whether an MLP has three matrices instead of two."""
    encoder_layers: Count | None = None
    encoder_hidden: Count | None = None
    decoder_layers: Count | None = None
    mel_bins: Count | None = None
    audio_positions: Count | None = None
    """Encoder output positions of one audio window."""
    output_dim: Count | None = None

    @model_validator(mode="after")
    def _check_layers(self) -> Self:
        """Check that each layer has one kind, and each kind has its sizes, because the KV cache is computed by
        layer."""
        full = self.full_attention_layers or self.attention_layers or self.global_layers or 0
        windows = self.sliding_layers or self.chunked_layers or 0
        kinds = full + windows + (self.linear_layers or 0) + (self.mamba_layers or 0)
        if self.layers is not None and kinds > self.layers:
            raise ValueError(f"at most the {self.layers} layers over all kinds of layers, {kinds} are named")
        if windows and not (self.window or self.attention_chunk_size):
            raise ValueError("window with sliding_layers, or attention_chunk_size with chunked_layers")
        if self.heads is not None and self.kv_heads is not None and self.kv_heads > self.heads:
            raise ValueError(f"at most as many kv_heads as heads, {self.heads}")
        if self.moe is not None and self.moe.top_k > self.moe.experts:
            raise ValueError(f"moe.top_k of at most moe.experts, {self.moe.experts}")
        return self


class KvBytes(CatalogModel):
    """Bytes of KV cache per token in bf16, one copy."""

    all_layers_full_attention: int | None
    full_attention_layers_only: int | None = None
    window: int | None = None
    note: str = ""


class Languages(CatalogModel):
    """Languages as in the model card."""

    list: str | None
    source: str | None
    verified: bool

    @property
    def codes(self) -> frozenset[str]:
        """ISO 639-1 codes of the listed languages; empty if the model card gives a count only."""
        named = re.sub(r"\(.*?\)", "", self.list or "").rpartition("incl.")[2].replace("mainly", "")
        words = (word.strip() for word in re.split("[,+]", named))
        return frozenset(word for word in words if re.fullmatch("[a-z]{2}", word))


class VllmParsers(CatalogModel):
    """Names in vLLM's registries."""

    tool_call_parser: str | None
    reasoning_parser: str | None
    source: str
    verified: str


class Licence(CatalogModel):
    """Summary of a licence. It does not replace reading the licence."""

    name: str
    spdx: str | None
    commercial_use: Literal["yes", "conditional", "no"]
    thresholds: str | None
    source: Sources
    verified: bool
    kind: str = ""
    eu_note: str = ""

    @property
    def needs_approval(self) -> bool:
        """Whether commercial use has conditions."""
        return self.commercial_use != "yes"


class ModelEntry(Sourced):
    """A model; `verified` if its architecture was read from a configuration file."""

    hf_repo: str | None
    role: Literal["chat", "asr", "embedding", "reranker"]
    attention: str
    params: Params
    arch: Arch
    kv_bytes_per_token_bf16: KvBytes
    max_context: Count | None
    """Maximum tokens without context extension; None if unknown or not measured in tokens."""
    released_dtype: str
    """Data type of the published weights."""
    languages: Languages
    vllm: VllmParsers
    licence: Licence
    realtime: Literal["VoxtralRealtimeGeneration", "Qwen3ASRRealtimeGeneration"] | None = None
    """Model class with which vLLM serves `/v1/realtime`; None for families without one. Source: vLLM 0.32.0,
    model_executor/models/registry.py (read 2026-11)."""
    notes: str = ""
    lab_only: bool = False
    """Whether only a lab may serve the model."""

    @property
    def is_fp8(self) -> bool:
        """Whether the published weights are FP8; `arch.moe.fp8_block` then applies without `quantization`."""
        return self.released_dtype.startswith("fp8") and "fp4" not in self.released_dtype

    @property
    def has_latent_attention(self) -> bool:
        """Whether the model has multi-head latent attention; every tensor-parallel rank then has the whole KV cache."""
        return self.attention.startswith("mla")


@cache
def load_models() -> Mapping[str, ModelEntry]:
    """Return all models of the catalogue by id, in the order of the file."""
    entries = [ModelEntry.model_validate(row) for row in read_entries("models", "models")]
    return MappingProxyType({entry.id: entry for entry in entries})
