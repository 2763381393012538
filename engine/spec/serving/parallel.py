"""Parallel execution of a pool beyond tensor, pipeline and data parallelism, which are fields of the pool.

Source: vLLM 0.32.0, config/parallel.py.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .section import Count, JsonObject, ServeSection

Ranks = Annotated[int, Field(ge=1, le=64)]
Seconds = Annotated[int, Field(ge=1, le=86_400)]


class Parallel(ServeSection):
    """Context and expert parallelism, communication, and binding to processors."""

    decode_context_parallel_size: Ranks | None = None
    """GPUs that share the KV cache of a request during decode; must divide `tensor_parallel_size`."""
    prefill_context_parallel_size: Literal[1] | None = None
    """GPUs that share a prompt during prefill; more than 1 needs GPUs that sovctl does not assign."""
    dcp_comm_backend: Literal["ag_rs", "a2a"] | None = None
    """Collective operations of decode context parallelism."""
    dcp_q_replicate: bool | None = None
    """Whether every GPU has all queries."""
    dcp_kv_cache_interleave_size: Count | None = None
    """Consecutive tokens of the KV cache on one GPU. Former name of `cp_kv_cache_interleave_size`."""
    cp_kv_cache_interleave_size: Count | None = None
    """Consecutive tokens of the KV cache on one GPU."""
    all2all_backend: (
        Literal["allgather_reducescatter", "flashinfer_nvlink_one_sided", "flashinfer_nvlink_two_sided"] | None
    ) = None
    """Communication of expert parallelism. Excluded: libraries that are in no lock, such as DeepEP."""
    enable_eplb: bool | None = None
    """Whether experts move between GPUs according to their load."""
    eplb_config: JsonObject | None = None
    """Interval, window and redundant experts of the load balancer for experts."""
    expert_placement_strategy: Literal["linear", "round_robin"] | None = None
    """Initial distribution of experts."""
    enable_ep_weight_filter: bool | None = None
    """Whether a rank reads only the weights of its own experts."""
    enable_hc_sp: bool | None = None
    """Whether hyper-connections use sequence parallelism."""
    enable_batch_sharded_sampling: bool | None = None
    """Whether the ranks share the sampling of a batch."""
    enable_dbo: bool | None = None
    """Whether two half batches overlap computation and communication."""
    ubatch_size: Annotated[int, Field(ge=0, le=64)] | None = None
    """Parts of a batch that overlap; 0: none."""
    dbo_decode_token_threshold: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Least tokens of a decode batch that is divided."""
    dbo_prefill_token_threshold: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Least tokens of a batch with prefill that is divided."""
    dp_sync_interval: Count | None = None
    """Steps between two synchronizations of data-parallel ranks."""
    disable_nccl_for_dp_synchronization: bool | None = None
    """Whether data-parallel ranks synchronize through main memory."""
    disable_custom_all_reduce: bool | None = None
    """Whether only NCCL reduces over GPUs."""
    enable_shm_tensor_arena: bool | None = None
    """Whether ranks exchange tensors through shared memory."""
    enable_nccl_comm_suspend: bool | None = None
    """Whether NCCL frees its memory while the server is idle."""
    distributed_timeout_seconds: Seconds | None = None
    """Seconds until a collective operation on GPUs fails."""
    cpu_distributed_timeout_seconds: Seconds | None = None
    """Seconds until a collective operation on processors fails."""
    numa_bind: bool | None = None
    """Whether a rank uses the processors and memory near its GPU."""
    numa_bind_nodes: Annotated[list[Annotated[int, Field(ge=0, le=63)]], Field(max_length=64)] | None = None
    """NUMA node of each rank, in the order of its GPUs."""
    numa_bind_cpus: Annotated[list[str], Field(max_length=64)] | None = None
    """Processors of each rank, such as 0-7, in the order of its GPUs."""
