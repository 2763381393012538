"""KV cache of a pool, and use of main memory.

Source: vLLM 0.32.0, config/cache.py and config/offload.py.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .section import Count, Gib, ServeSection, Tokens

StateDtype = Literal["auto", "bfloat16", "float16", "float32"]


class Cache(ServeSection):
    """Blocks of the KV cache, prefix caching and offloading."""

    block_size: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Tokens per block. Default: the attention backend's."""
    num_gpu_blocks_override: Count | None = None
    """Blocks of the KV cache, instead of as many as memory allows."""
    enable_prefix_caching: bool | None = None
    """Whether requests with the same beginning share its KV cache. Default: true if the model supports it."""
    prefix_caching_hash_algo: Literal["sha256", "sha256_cbor", "xxhash", "xxhash_cbor"] | None = None
    """Hash of shared beginnings. `xxhash` has collisions, through which a tenant can obtain the cache of another."""
    prefix_cache_retention_interval: Annotated[int, Field(ge=0, le=16_777_216)] | None = None
    """Tokens between the states of a hybrid model that are kept for shared beginnings; 0: all."""
    prefix_match_unit: Tokens | None = None
    """Tokens of which shared beginnings are multiples."""
    kv_cache_dtype_skip_layers: Annotated[list[str], Field(max_length=256)] | None = None
    """Layers whose KV cache keeps the model's data type, by number or kind."""
    kv_sharing_fast_prefill: bool | None = None
    """Whether prefill skips layers that share the KV cache of others."""
    swa_bounded_replay: bool | None = None
    """Whether recomputation of a sliding window is limited to its length."""
    disable_hybrid_kv_cache_manager: bool | None = None
    """Whether all layers have blocks of the same size."""
    kv_offloading_size: Gib | None = None
    """Main memory for evicted KV cache in GiB, of all ranks together."""
    kv_offloading_backend: Literal["native"] | None = None
    """Implementation that moves evicted KV cache. `lmcache` is excluded because its package is in no lock."""
    mamba_cache_dtype: StateDtype | None = None
    """Data type of the convolution states of state-space layers."""
    mamba_ssm_cache_dtype: StateDtype | None = None
    """Data type of the states of state-space layers."""
    mamba_block_size: Tokens | None = None
    """Tokens per cached state of state-space layers."""
    mamba_cache_mode: Literal["none", "align"] | None = None
    """Positions at which states of state-space layers are cached."""
    enable_mamba_shared_prefix_checkpoint: bool | None = None
    """Whether states at the end of shared beginnings are cached."""
    enable_mamba_cache_stochastic_rounding: bool | None = None
    """Whether states are rounded at random when they are stored."""
    mamba_cache_philox_rounds: Annotated[int, Field(ge=0, le=10)] | None = None
    """Rounds of the random generator for rounding; 0: its default."""
    use_replayssm: bool | None = None
    """Whether states are recomputed from recent tokens instead of stored for each."""
    replayssm_buffer_len: Count | None = None
    """Recent tokens that are kept for recomputation."""


class Offload(ServeSection):
    """Weights in main memory. Every step then transfers them, so answers are slower."""

    offload_backend: Literal["auto", "prefetch", "uva"] | None = None
    """Method: `prefetch` copies layers before their use, `uva` reads main memory from the GPU."""
    cpu_offload_gb: Gib | None = None
    """Weights in main memory in GiB per GPU."""
    cpu_offload_params: Annotated[list[str], Field(max_length=256)] | None = None
    """Names of parameters for `uva`. Default: all."""
    offload_group_size: Annotated[int, Field(ge=0, le=1024)] | None = None
    """Layers of one group for `prefetch`; 0: none."""
    offload_num_in_group: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Layers of each group in main memory."""
    offload_prefetch_step: Annotated[int, Field(ge=0, le=1024)] | None = None
    """Layers that are copied ahead."""
    offload_params: Annotated[list[str], Field(max_length=256)] | None = None
    """Names of parameters for `prefetch`. Default: all."""
