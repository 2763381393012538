"""Memory of one GPU of a replica: budget of vLLM, weights, overhead, adapters, and the rest for the KV cache.

vLLM reserves `gpu_memory_utilization` of the GPU, loads the weights, subtracts the peak of its profiling run, and uses
the rest for the KV cache. No safety factor is applied.

    memory = rank_memory(gpu, weights, engine_version="0.32.0", tensor_parallel_size=2)
    memory.kv_bytes, memory.fits
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ...catalog.gpus import Gpu
from ...catalog.overheads import load_overheads
from .. import GIB
from .lora_adapters import adapter_bytes
from .weights import Weights

DEFAULT_UTILIZATION = 0.9  # setting of published servers; a pool has its own in site.yaml
_MIB = 1 << 20


class Edge(StrEnum):
    """End of the measured range of vLLM's overhead; plans use the pessimistic one."""

    PESSIMISTIC = "pessimistic"
    MIDDLE = "middle"
    OPTIMISTIC = "optimistic"


@dataclass(frozen=True, slots=True)
class RankMemory:
    """Memory of the fullest GPU of a replica, in bytes."""

    usable_bytes: float
    """Memory that a process can allocate."""
    utilization: float
    weights_bytes: float
    overhead_bytes: float
    """Activations, CUDA graphs, NCCL and the allocator."""
    adapters_bytes: float
    """LoRA adapters loaded at the same time."""

    @property
    def budget_bytes(self) -> float:
        """Memory that vLLM may use."""
        return self.usable_bytes * self.utilization

    @property
    def kv_bytes(self) -> float:
        """Memory for the KV cache; negative if weights and overhead exceed the budget."""
        return self.budget_bytes - self.weights_bytes - self.overhead_bytes - self.adapters_bytes

    @property
    def fits(self) -> bool:
        """Whether vLLM starts; it needs at least one block of KV cache."""
        return self.kv_bytes > 0


def usable_bytes(gpu: Gpu) -> float:
    """Return the memory of a GPU that a process can allocate, in bytes."""
    driver = load_overheads().driver_gib.value
    assert isinstance(driver, float)
    return _shown_mib(gpu) * _MIB - driver * GIB


def _shown_mib(gpu: Gpu) -> float:
    # If the catalogue lacks the memory that nvidia-smi shows: the label in GiB less 1 %; see gpus.yaml.
    return gpu.usable_mib or gpu.memory_label_gb * 1024 * 0.99


def rank_memory(
    gpu: Gpu,
    weights: Weights,
    *,
    engine_version: str,
    tensor_parallel_size: int = 1,
    pipeline_parallel_size: int = 1,
    data_parallel_size: int = 1,
    enable_expert_parallel: bool = False,
    gpu_memory_utilization: float = DEFAULT_UTILIZATION,
    adapters: int = 0,
    adapter_rank: int = 16,
    edge: Edge = Edge.PESSIMISTIC,
) -> RankMemory:
    """Return the memory of the fullest GPU of one replica.

    Args:
        engine_version: version of vLLM; the overhead is that of the nearest measured version.
        data_parallel_size: ranks that share the experts and each hold all other weights.
        adapters: LoRA adapters loaded at the same time (`max_loras`).
        adapter_rank: `max_lora_rank`.
    """
    overhead = load_overheads().of_vllm(engine_version)
    gib = {
        Edge.PESSIMISTIC: overhead.high_gib,
        Edge.MIDDLE: (overhead.low_gib + overhead.high_gib) / 2,
        Edge.OPTIMISTIC: overhead.low_gib,
    }[edge]
    return RankMemory(
        usable_bytes=usable_bytes(gpu),
        utilization=gpu_memory_utilization,
        weights_bytes=weights.rank_bytes(
            tensor_parallel_size=tensor_parallel_size,
            pipeline_parallel_size=pipeline_parallel_size,
            data_parallel_size=data_parallel_size,
            enable_expert_parallel=enable_expert_parallel,
        ),
        overhead_bytes=gib * GIB,
        adapters_bytes=adapters
        * adapter_bytes(
            weights,
            adapter_rank,
            tensor_parallel_size=tensor_parallel_size,
            pipeline_parallel_size=pipeline_parallel_size,
        ),
    )
