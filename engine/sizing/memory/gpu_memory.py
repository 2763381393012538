"""One GPU's memory in a replica: what vLLM may use, what weights and vLLM itself take, what is left for the KV cache.

No factor is put on anything: vLLM takes `gpu_memory_utilization` of the card, loads its weights, keeps what its
profiling run needed, and gives the rest to the cache.

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

DEFAULT_UTILIZATION = 0.9  # what published servers ran with; a pool's own, and its default, is spec's
_MIB = 1 << 20


class Edge(StrEnum):
    """Which end of what was measured; plans use the pessimistic one."""

    PESSIMISTIC = "pessimistic"
    MIDDLE = "middle"
    OPTIMISTIC = "optimistic"


@dataclass(frozen=True, slots=True)
class RankMemory:
    """Bytes of the fullest GPU of a replica."""

    usable_bytes: float
    """What a process sees."""
    utilization: float
    weights_bytes: float
    overhead_bytes: float
    """Activations, CUDA graphs, NCCL, the allocator."""
    adapters_bytes: float
    """LoRA adapters that are loaded at once."""

    @property
    def budget_bytes(self) -> float:
        """What vLLM may use."""
        return self.usable_bytes * self.utilization

    @property
    def kv_bytes(self) -> float:
        """What is left for the KV cache; negative when the rest does not fit."""
        return self.budget_bytes - self.weights_bytes - self.overhead_bytes - self.adapters_bytes

    @property
    def fits(self) -> bool:
        """True when vLLM starts: it wants at least one block."""
        return self.kv_bytes > 0


def usable_bytes(gpu: Gpu) -> float:
    """What a process sees of a GPU."""
    driver = load_overheads().driver_gib.value
    assert isinstance(driver, float)
    return _shown_mib(gpu) * _MIB - driver * GIB


def _shown_mib(gpu: Gpu) -> float:
    # Labels behave like GiB less one percent where nobody has written down what nvidia-smi shows; see gpus.yaml.
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
    """The memory of the fullest GPU of one replica.

    Args:
        engine_version: of vLLM; the nearest one that was measured counts.
        data_parallel_size: ranks that share the experts and hold the rest each.
        enable_expert_parallel: with expert parallelism.
        adapters: LoRA adapters that vLLM has room for at once (`max_loras`).
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
