"""GPUs: memory, bandwidth, arithmetic, links and power of each product."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from .figure import Amount, CatalogModel, Count, Kind, Sourced, read_entries


class DenseTflops(CatalogModel):
    """Peak rates without sparsity; None if the GPU does not support the format."""

    bf16: Amount
    fp8: Amount | None
    fp4: Amount | None


class ScaleUp(CatalogModel):
    """Links between the GPUs of one domain."""

    link: str
    gb_s_per_gpu_per_direction: Amount


class Gpu(Sourced):
    """A GPU product."""

    memory_label_gb: Count
    usable_mib: Count | None
    """Memory in MiB as nvidia-smi shows it. Default: the label x 1024 x 0.99."""
    usable_source: str = ""
    usable_kind: Kind = "guess"
    memory_bandwidth_gb_s: Amount
    dense_tflops: DenseTflops
    scale_up: ScaleUp
    pcie_gb_s_per_direction: Amount | None
    tdp_w: Count
    compute_capability: str
    """CUDA compute capability such as "9.0", or the gfx name of an AMD GPU."""
    notes: str = ""

    @property
    def has_fp8(self) -> bool:
        """Whether the GPU has FP8 arithmetic. Without it, FP8 weights are stored only, and an FP8 KV cache is not
        supported."""
        return self.dense_tflops.fp8 is not None


@cache
def load_gpus() -> Mapping[str, Gpu]:
    """Return all GPUs of the catalogue by id, in the order of the file."""
    entries = [Gpu.model_validate(row) for row in read_entries("gpus", "gpus")]
    return MappingProxyType({entry.id: entry for entry in entries})
