"""MIG slices: a GPU cut into equal devices that share nothing, as sizing and placement see them.

    slices_of("H100-80GB-SXM")["3g.40gb"].instances       # 2
    cut(load_gpus()["H100-80GB-SXM"], "3g.40gb").id       # "H100-80GB-SXM/3g.40gb"

A slice has its share of memory, bandwidth and arithmetic, and no links: there is neither NVLink nor peer-to-peer
between slices, so a server never spans two.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache

from .figure import CatalogModel, Count, Kind, read_entries
from .gpus import DenseTflops, Gpu
from .platforms import Platform

# Of a slice's share, what nvidia-smi shows at least: an H200's 2g.35gb shows 32.50 of 140.00 GiB, 0.929 of a quarter,
# an A100's 1g.5gb 4.75 of 39.50, 0.962 of an eighth (community listings, `nvidia-smi mig -lgip`, read 2026-11-22).
SEEN_AT_LEAST = 0.92
SOURCE = "NVIDIA, MIG User Guide, Supported MIG Profiles"


class MigProfile(CatalogModel):
    """One way to cut some GPUs."""

    gpus: tuple[str, ...]
    profile: str
    """As nvidia-smi names it."""
    instances: Count
    """On one GPU."""
    memory: tuple[Count, Count]
    """Share of memory and bandwidth, numerator and denominator."""
    compute: tuple[Count, Count]
    """Share of the multiprocessors."""
    kind: Kind
    date: date
    """When the source was read."""


@cache
def slices_of(gpu: str) -> Mapping[str, MigProfile]:
    """Profiles of a GPU by name, in the order of the file; empty where it cannot be cut, or nobody has said how."""
    entries = [MigProfile.model_validate(row) for row in read_entries("mig", "profiles")]
    return {entry.profile: entry for entry in entries if gpu in entry.gpus}


def slice_gpu(gpu: Gpu, profile: str) -> Gpu:
    """One slice of a GPU, as a GPU of its own.

    Raises:
        KeyError: there is no such profile.
    """
    mig = slices_of(gpu.id)[profile]
    memory, compute = mig.memory[0] / mig.memory[1], mig.compute[0] / mig.compute[1]
    whole_mib = gpu.usable_mib or gpu.memory_label_gb * 1024 * 0.99
    tflops = gpu.dense_tflops
    return gpu.model_copy(
        update={
            "id": f"{gpu.id}/{profile}",
            "memory_label_gb": round(gpu.memory_label_gb * memory),
            "usable_mib": round(whole_mib * memory * SEEN_AT_LEAST),
            "usable_kind": "guess",
            "usable_source": f"{SOURCE}; {SEEN_AT_LEAST} of the share, the least that listings show",
            "tdp_w": max(1, round(gpu.tdp_w * compute)),
            "memory_bandwidth_gb_s": gpu.memory_bandwidth_gb_s * memory,
            "dense_tflops": DenseTflops(
                bf16=tflops.bf16 * compute,
                fp8=None if tflops.fp8 is None else tflops.fp8 * compute,
                fp4=None if tflops.fp4 is None else tflops.fp4 * compute,
            ),
        }
    )


def with_mig_slices(platform: Platform, profile: str) -> Platform:
    """A machine all of whose GPUs are cut so: its slices are counted as its GPUs.

    Raises:
        KeyError: there is no such profile.
    """
    each = slices_of(platform.gpu or "")[profile].instances
    return platform.model_copy(update={"gpus": platform.gpus * each, "system_gpus": platform.system_gpus * each})
