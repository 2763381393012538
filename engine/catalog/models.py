"""Open-weight models: shape, context, languages, licence, and how vLLM must be told to parse them.

model = load_models()["llama-3.3-70b"]
model.arch.heads, model.licence.needs_approval
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal

from sovctl.engine.catalog.figure import CatalogModel, Sources, read_catalog


class Params(CatalogModel):
    """How many parameters; `active` are those one token passes through."""

    published_total_b: float
    """What the maker says, in 1e9."""
    published_active_b: float
    computed_total: int | None = None
    """Summed over the shape."""
    computed_active: int | None = None


class MoE(CatalogModel):
    """The experts of a mixture."""

    layers: int
    experts: int
    top_k: int
    ffn: int
    """Intermediate size of one expert."""
    shared_ffn: int | None = None
    fp8_block: int | None = None
    """Block of the FP8 checkpoint; a rank's slice of an expert must be a multiple of it."""


class Arch(CatalogModel):
    """The shape; what is absent is not known."""

    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    ffn: int | None = None
    vocab: int | None = None
    tied: bool | None = None
    """True when the input embedding is also the output layer."""
    moe: MoE | None = None
    attention_chunk_size: int | None = None
    chunked_layers: int | None = None
    full_attention_layers: int | None = None
    attention_layers: int | None = None
    sliding_layers: int | None = None
    window: int | None = None
    global_layers: int | None = None
    global_kv_heads: int | None = None
    global_head_dim: int | None = None
    linear_layers: int | None = None
    linear_num_value_heads: int | None = None
    linear_num_key_heads: int | None = None
    linear_head_dim: int | None = None
    mamba_layers: int | None = None
    kv_lora_rank: int | None = None
    q_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    encoder_layers: int | None = None
    encoder_hidden: int | None = None
    decoder_layers: int | None = None
    mel_bins: int | None = None
    output_dim: int | None = None


class KvBytes(CatalogModel):
    """Bytes of KV cache for one token, one copy, bf16."""

    all_layers_full_attention: int | None
    full_attention_layers_only: int | None = None
    window: int | None = None
    note: str = ""


class Languages(CatalogModel):
    """As the model card says it, in words."""

    list: str | None
    source: str | None
    verified: bool


class VllmParsers(CatalogModel):
    """Names in vLLM's registries."""

    tool_call_parser: str | None
    reasoning_parser: str | None
    source: str
    verified: str


class Licence(CatalogModel):
    """What its text asks for; a person reads the text, not this."""

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
        """True unless commercial use is free of conditions."""
        return self.commercial_use != "yes"


class ModelEntry(CatalogModel):
    """One model."""

    id: str
    hf_repo: str | None
    role: Literal["chat", "asr", "embedding", "reranker"]
    attention: str
    params: Params
    arch: Arch
    kv_bytes_per_token_bf16: KvBytes
    max_context: int | None
    """Tokens without stretching; None where the unit is not tokens or it is not known."""
    released_dtype: str
    """What its weights are published in."""
    languages: Languages
    vllm: VllmParsers
    licence: Licence
    source: Sources
    verified: bool
    """True when the shape was read from a configuration file."""
    notes: str = ""
    lab_only: bool = False
    """True for a model that only tests may serve."""

    @property
    def is_fp8(self) -> bool:
        """True when the published weights are FP8 throughout: `arch.moe.fp8_block` binds without being asked."""
        return self.released_dtype.startswith("fp8") and "fp4" not in self.released_dtype

    @property
    def has_latent_attention(self) -> bool:
        """True for multi-head latent attention, whose cache every tensor-parallel rank holds whole."""
        return self.attention.startswith("mla")


@cache
def load_models() -> Mapping[str, ModelEntry]:
    """Every model of the catalogue by id, in the order of the file."""
    entries = [ModelEntry.model_validate(row) for row in read_catalog("models")["models"]]
    return MappingProxyType({entry.id: entry for entry in entries})
