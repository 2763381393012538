"""Open-weight models: shape, context, languages, licence, and how vLLM must be told to parse them.

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
    """How many parameters; `active` are those one token passes through."""

    published_total_b: Amount
    """What the maker says, in 1e9."""
    published_active_b: Amount
    computed_total: int | None = None
    """Summed over the shape."""
    computed_active: int | None = None
    outside_shape_b: float = 0.0
    """What the maker counts and the shape does not hold, such as a vision tower, in 1e9."""


class MoE(CatalogModel):
    """The experts of a mixture."""

    layers: Count
    experts: Count
    top_k: Count
    ffn: Count
    """Intermediate size of one expert."""
    shared_ffn: Count | None = None
    """Of what runs for every token beside the routed experts."""
    latent: Count | None = None
    """Width in which experts work, where it is not the model's."""
    fp8_block: Count | None = None
    """Block of the FP8 checkpoint; a rank's slice of an expert must be a multiple of it."""


class Compressed(CatalogModel):
    """Layers that keep one entry for several tokens."""

    ratio: Count
    """Tokens of an entry."""
    layers: Count
    indexer: Count | None = None
    """Numbers of the smaller entry by which the entries that matter are found."""


class Arch(CatalogModel):
    """The shape; what is absent is not known."""

    layers: Count | None = None
    hidden: Count | None = None
    heads: Count | None = None
    kv_heads: Count | None = None
    head_dim: Count | None = None
    ffn: Annotated[int, Field(ge=0)] | None = None
    """Of dense layers; 0 where there are none."""
    vocab: Count | None = None
    tied: bool | None = None
    """True when the input embedding is also the output layer."""
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
    """Of one number of a linear layer's or a state space's state; its cache's precision does not change it."""
    kv_lora_rank: Count | None = None
    q_lora_rank: Count | None = None
    compressed: tuple[Compressed, ...] = ()
    """Beside a window of tokens in full, in every layer."""
    qk_rope_head_dim: Count | None = None
    qk_nope_head_dim: Count | None = None
    v_head_dim: Count | None = None
    o_lora_rank: Count | None = None
    o_groups: Count | None = None
    has_attention_gate: bool = False
    """True when the query projection is doubled by a gate."""
    is_gated: bool = True
    """True when an MLP has three matrices, False when it has two."""
    encoder_layers: Count | None = None
    encoder_hidden: Count | None = None
    decoder_layers: Count | None = None
    mel_bins: Count | None = None
    audio_positions: Count | None = None
    """Of one window of sound, behind the encoder."""
    output_dim: Count | None = None

    @model_validator(mode="after")
    def _layers_add_up(self) -> Self:
        """A cache is reckoned layer by layer: no layer is of two kinds, and none is of a kind without its measures."""
        full = self.full_attention_layers or self.attention_layers or self.global_layers or 0
        windows = self.sliding_layers or self.chunked_layers or 0
        kinds = full + windows + (self.linear_layers or 0) + (self.mamba_layers or 0)
        if self.layers is not None and kinds > self.layers:
            raise ValueError(f"at most the {self.layers} layers over all kinds of layers, {kinds} are named")
        if windows and not (self.window or self.attention_chunk_size):
            raise ValueError("window beside sliding_layers, or attention_chunk_size beside chunked_layers")
        if self.heads is not None and self.kv_heads is not None and self.kv_heads > self.heads:
            raise ValueError(f"at most as many kv_heads as heads, {self.heads}")
        if self.moe is not None and self.moe.top_k > self.moe.experts:
            raise ValueError(f"moe.top_k of at most moe.experts, {self.moe.experts}")
        return self


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

    @property
    def codes(self) -> frozenset[str]:
        """ISO 639-1 codes of what is listed by name; a mere count of languages names none."""
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


class ModelEntry(Sourced):
    """One model; `verified` when its shape was read from a configuration file."""

    hf_repo: str | None
    role: Literal["chat", "asr", "embedding", "reranker"]
    attention: str
    params: Params
    arch: Arch
    kv_bytes_per_token_bf16: KvBytes
    max_context: Count | None
    """Tokens without stretching; None where the unit is not tokens or it is not known."""
    released_dtype: str
    """What its weights are published in."""
    languages: Languages
    vllm: VllmParsers
    licence: Licence
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
    entries = [ModelEntry.model_validate(row) for row in read_entries("models", "models")]
    return MappingProxyType({entry.id: entry for entry in entries})
