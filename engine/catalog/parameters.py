"""Computes the number of parameters of a model from its architecture, to verify the catalogue. Pure.

    counted = count_parameters(load_models()["deepseek-v3"])
    counted.total, counted.active              # 671.0e9, 37.6e9
    deviation(load_models()["deepseek-v3"])    # relative deviation from the published number: 0.00004

A layer consists of attention (grouped, latent, linear or state-space) and an MLP (dense or experts). Biases, head norms
and multi-token prediction layers are omitted; together they are below 0.5 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .models import Arch, ModelEntry

TOLERANCE = 0.03
"""Allowed relative deviation from the published number; vendors round to two digits."""
_CONVOLUTION = 4  # width of the short convolution in linear attention and Mamba-2 (configuration files)


@dataclass(frozen=True, slots=True)
class Parameters:
    """Number of parameters of a model."""

    total: int
    active: int
    """Parameters used for one token, including embeddings and output layer."""


def count_parameters(model: ModelEntry) -> Parameters | None:
    """Return the number of parameters; None if the architecture is incomplete."""
    arch = model.arch
    if arch.encoder_layers and arch.decoder_layers:
        return _encoder_decoder(arch)
    if arch.layers is None or arch.hidden is None or arch.vocab is None or arch.heads is None:
        return None
    attention = _attention(model)
    if attention is None:
        return None
    hidden, moe = arch.hidden, arch.moe
    matrices = 3 if arch.is_gated else 2
    dense_layers = 0 if arch.mamba_layers else arch.layers - (moe.layers if moe else 0)
    if dense_layers and not arch.ffn:
        return None
    rest = attention + arch.layers * 2 * hidden + arch.vocab * hidden * (1 if _is_tied(model) else 2)
    rest += dense_layers * matrices * hidden * (arch.ffn or 0)
    if moe is None:
        return Parameters(rest, rest)
    width = moe.latent or hidden
    rest += moe.layers * (matrices * hidden * (moe.shared_ffn or 0) + hidden * moe.experts)
    rest += moe.layers * 2 * hidden * (moe.latent or 0)
    expert = moe.layers * matrices * width * moe.ffn
    return Parameters(rest + moe.experts * expert, rest + moe.top_k * expert)


def deviation(model: ModelEntry) -> float | None:
    """Return the relative difference between counted and published total; None if it cannot be counted."""
    counted = count_parameters(model)
    if counted is None:
        return None
    published = model.params.published_total_b - model.params.outside_shape_b
    return counted.total / (published * 1e9) - 1


def problems(models: Iterator[ModelEntry]) -> Iterator[str]:
    """Yield a message for every model whose shape contradicts its published count."""
    for model in models:
        found = deviation(model)
        if found is not None and abs(found) > TOLERANCE:
            yield (
                f"{model.id}: its shape has {found * 1e2:+.1f} % of the "
                f"{model.params.published_total_b:g}e9 parameters, "
                f"expected within {TOLERANCE * 100:.0f} %"
            )


def _attention(model: ModelEntry) -> int | None:
    """Return the parameters of attention in all layers; None if unknown."""
    arch = model.arch
    assert arch.layers is not None
    assert arch.hidden is not None
    assert arch.heads is not None
    if arch.kv_lora_rank is not None:
        return arch.layers * _latent(arch)
    if arch.o_lora_rank is not None:
        return arch.layers * _compressed(arch)
    head_dim = arch.head_dim or arch.hidden // arch.heads
    kv_heads = arch.kv_heads or arch.heads
    linear, mamba = arch.linear_layers or 0, arch.mamba_layers or 0
    if arch.attention_layers is not None and not mamba:
        return None  # layers with several attention types and different sizes are not supported
    full = arch.attention_layers if mamba else arch.layers - linear - (arch.global_layers or 0)
    queries = arch.heads * head_dim * (2 if arch.has_attention_gate else 1)
    each = arch.hidden * (queries + 2 * kv_heads * head_dim) + arch.heads * head_dim * arch.hidden
    total = (full or 0) * each
    if arch.global_layers and arch.global_head_dim and arch.global_kv_heads:
        # Gemma 4: keys of global layers are their values too (`attention_k_eq_v`).
        width = arch.heads * arch.global_head_dim
        total += arch.global_layers * arch.hidden * (2 * width + arch.global_kv_heads * arch.global_head_dim)
    return total + linear * _linear(arch) + mamba * _mamba(arch)


def _latent(arch: Arch) -> int:
    """Return the parameters of multi-head latent attention: DeepSeek-V2, arXiv 2405.04434, 2.1."""
    hidden, heads = arch.hidden or 0, arch.heads or 0
    rope, nope, value = arch.qk_rope_head_dim or 0, arch.qk_nope_head_dim or 0, arch.v_head_dim or 0
    queries = (arch.q_lora_rank or 0) * (hidden + heads * (nope + rope))
    latent = arch.kv_lora_rank or 0
    return queries + hidden * (latent + rope) + latent * heads * (nope + value) + heads * value * hidden


def _compressed(arch: Arch) -> int:
    """Return the parameters of DeepSeek-V4 attention: low-rank queries, one key-value head, grouped output projection.

    Source: its configuration file.
    """
    hidden, width = arch.hidden or 0, (arch.heads or 0) * (arch.head_dim or 0)
    queries = (arch.q_lora_rank or 0) * (hidden + width)
    out = (arch.o_lora_rank or 0) * (width + (arch.o_groups or 0) * hidden)
    return queries + hidden * (arch.head_dim or 0) + out


def _linear(arch: Arch) -> int:
    """Return the parameters of a gated delta net: transformers 5.23, models/qwen3_next."""
    hidden, size = arch.hidden or 0, arch.linear_head_dim or 0
    keys, values = (arch.linear_num_key_heads or 0) * size, (arch.linear_num_value_heads or 0) * size
    projected = 2 * keys + 2 * values + 2 * (arch.linear_num_value_heads or 0)
    return hidden * projected + _CONVOLUTION * (2 * keys + values) + values * hidden


def _mamba(arch: Arch) -> int:
    """Return the parameters of Mamba-2: transformers 5.23, models/nemotron_h."""
    hidden, heads = arch.hidden or 0, arch.mamba_heads or 0
    inner, mixed = heads * (arch.mamba_head_dim or 0), 2 * (arch.mamba_groups or 0) * (arch.mamba_state or 0)
    return hidden * (2 * inner + mixed + heads) + _CONVOLUTION * (inner + mixed) + inner * hidden


def _encoder_decoder(arch: Arch) -> Parameters:
    """Return the parameters of Whisper, with cross-attention in the decoder; arXiv 2212.04356, 2.2."""
    hidden, ffn = arch.hidden or 0, arch.ffn or 0
    encoder = (arch.encoder_layers or 0) * (4 * hidden * hidden + 2 * hidden * ffn)
    decoder = (arch.decoder_layers or 0) * (8 * hidden * hidden + 2 * hidden * ffn)
    total = encoder + decoder + (arch.vocab or 0) * hidden
    return Parameters(total, total)


def _is_tied(model: ModelEntry) -> bool:
    """Return whether there is one embedding matrix: shared with the output layer, or without an output layer."""
    return bool(model.arch.tied) or model.role in ("embedding", "reranker")
