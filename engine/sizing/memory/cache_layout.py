"""Which kind of cache a model has: pages of equal size, as most, or a sum of parts. Pure.

kv_cache(load_models()["llama-3.3-70b"]).token_bytes()
"""

from __future__ import annotations

from ...catalog.models import ModelEntry
from .composite_cache import compressed_cache, cross_attention_cache
from .kv_cache import KvCache, paged_cache


def kv_cache(model: ModelEntry) -> KvCache:
    """The cache of a model in the catalogue.

    Raises:
        InputError: the catalogue does not know enough of its shape.
    """
    if model.attention.startswith("compressed"):
        return compressed_cache(model)
    return cross_attention_cache(model) if model.attention == "encoder-decoder" else paged_cache(model)
