"""GPUs: memory, bandwidth, arithmetic, links, power, one value per product."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from sovctl.engine.catalog.figure import CatalogModel, Sources, read_catalog


class DenseTflops(CatalogModel):
    """Without sparsity; None where the GPU has no such arithmetic."""

    bf16: float
    fp8: float | None
    fp4: float | None


class ScaleUp(CatalogModel):
    """The links between GPUs of one domain."""

    link: str
    gb_s_per_gpu_per_direction: float


class Gpu(CatalogModel):
    """One product."""

    id: str
    memory_label_gb: int
    usable_mib: int | None
    """As nvidia-smi shows it; the label x 1024 x 0.99 where nobody has written it down."""
    usable_source: str = ""
    memory_bandwidth_gb_s: float
    dense_tflops: DenseTflops
    scale_up: ScaleUp
    pcie_gb_s_per_direction: float | None
    tdp_w: int
    compute_capability: str
    """CUDA's, such as "9.0", or the gfx name of an AMD part."""
    source: Sources
    verified: bool
    notes: str = ""

    @property
    def has_fp8(self) -> bool:
        """True when it computes in FP8; without, FP8 weights are only stored and an FP8 KV cache is not served."""
        return self.dense_tflops.fp8 is not None


@cache
def load_gpus() -> Mapping[str, Gpu]:
    """Every GPU of the catalogue by id, in the order of the file."""
    entries = [Gpu.model_validate(row) for row in read_catalog("gpus")["gpus"]]
    return MappingProxyType({entry.id: entry for entry in entries})
