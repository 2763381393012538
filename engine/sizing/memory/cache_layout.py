"""Selects the KV cache layout of a model: pages of equal size, or a sum over layers. Pure.

kv_cache(load_models()["llama-3.3-70b"]).token_bytes()
"""

from __future__ import annotations

from ...catalog.models import ModelEntry
from .composite_cache import compressed_cache, cross_attention_cache
from .kv_cache import KvCache, paged_cache


def kv_cache(model: ModelEntry) -> KvCache:
    """Return the KV cache of a model in the catalogue.

    Raises:
        InputError: the catalogue lacks a figure of the model's shape.
    """
    if model.attention.startswith("compressed"):
        return compressed_cache(model)
    return cross_attention_cache(model) if model.attention == "encoder-decoder" else paged_cache(model)
