"""GPUs: memory, bandwidth, arithmetic, links, power, one value per product."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from .figure import Amount, CatalogModel, Count, Kind, Sourced, read_entries


class DenseTflops(CatalogModel):
    """Without sparsity; None where the GPU has no such arithmetic."""

    bf16: Amount
    fp8: Amount | None
    fp4: Amount | None


class ScaleUp(CatalogModel):
    """The links between GPUs of one domain."""

    link: str
    gb_s_per_gpu_per_direction: Amount


class Gpu(Sourced):
    """One product."""

    memory_label_gb: Count
    usable_mib: Count | None
    """As nvidia-smi shows it; the label x 1024 x 0.99 where nobody has written it down."""
    usable_source: str = ""
    usable_kind: Kind = "guess"
    memory_bandwidth_gb_s: Amount
    dense_tflops: DenseTflops
    scale_up: ScaleUp
    pcie_gb_s_per_direction: Amount | None
    tdp_w: Count
    compute_capability: str
    """CUDA's, such as "9.0", or the gfx name of an AMD part."""
    notes: str = ""

    @property
    def has_fp8(self) -> bool:
        """True when it computes in FP8; without, FP8 weights are only stored and an FP8 KV cache is not served."""
        return self.dense_tflops.fp8 is not None


@cache
def load_gpus() -> Mapping[str, Gpu]:
    """Every GPU of the catalogue by id, in the order of the file."""
    entries = [Gpu.model_validate(row) for row in read_entries("gpus", "gpus")]
    return MappingProxyType({entry.id: entry for entry in entries})
