"""MIG slices: equal, isolated partitions of a GPU, for sizing and placement.

    slices_of("H100-80GB-SXM")["3g.40gb"].instances       # 2
    slice_gpu(load_gpus()["H100-80GB-SXM"], "3g.40gb").id       # "H100-80GB-SXM/3g.40gb"

A slice has a share of memory, bandwidth and arithmetic. Slices have no NVLink and no peer-to-peer access, so a replica
uses one slice.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache

from .figure import CatalogModel, Count, Kind, read_entries
from .gpus import DenseTflops, Gpu
from .platforms import Platform

# Minimum of the memory that nvidia-smi shows, as a fraction of the slice's share. H200 2g.35gb: 32.50 of 140.00 GiB,
# 0.929 of a quarter; A100 1g.5gb: 4.75 of 39.50 GiB, 0.962 of an eighth (community listings, `nvidia-smi mig -lgip`,
# read 2026-11-22).
MIN_VISIBLE_FRACTION = 0.92
SOURCE = "NVIDIA, MIG User Guide, Supported MIG Profiles"


class MigProfile(CatalogModel):
    """A MIG profile of some GPUs."""

    gpus: tuple[str, ...]
    profile: str
    """Name in nvidia-smi."""
    instances: Count
    """Slices on one GPU."""
    memory: tuple[Count, Count]
    """Share of memory and bandwidth: numerator, denominator."""
    compute: tuple[Count, Count]
    """Share of the multiprocessors: numerator, denominator."""
    kind: Kind
    date: date
    """Date on which the source was read."""


@cache
def slices_of(gpu: str) -> Mapping[str, MigProfile]:
    """Return the MIG profiles of a GPU by name, in the order of the file; empty if the GPU does not support MIG or they
    are unknown."""
    entries = [MigProfile.model_validate(row) for row in read_entries("mig", "profiles")]
    return {entry.profile: entry for entry in entries if gpu in entry.gpus}


def slice_gpu(gpu: Gpu, profile: str) -> Gpu:
    """Return one slice of a GPU as a GPU.

    Raises:
        KeyError: the GPU does not have this profile.
    """
    mig = slices_of(gpu.id)[profile]
    memory, compute = mig.memory[0] / mig.memory[1], mig.compute[0] / mig.compute[1]
    whole_mib = gpu.usable_mib or gpu.memory_label_gb * 1024 * 0.99
    tflops = gpu.dense_tflops
    return gpu.model_copy(
        update={
            "id": f"{gpu.id}/{profile}",
            "memory_label_gb": round(gpu.memory_label_gb * memory),
            "usable_mib": round(whole_mib * memory * MIN_VISIBLE_FRACTION),
            "usable_kind": "guess",
            "usable_source": f"{SOURCE}; {MIN_VISIBLE_FRACTION} of the share, the minimum in published listings",
            "tdp_w": max(1, round(gpu.tdp_w * compute)),
            "memory_bandwidth_gb_s": gpu.memory_bandwidth_gb_s * memory,
            "dense_tflops": DenseTflops(
                bf16=tflops.bf16 * compute,
                fp8=None if tflops.fp8 is None else tflops.fp8 * compute,
                fp4=None if tflops.fp4 is None else tflops.fp4 * compute,
            ),
        }
    )


def with_devices(platform: Platform, count: int) -> Platform:
    """Return the platform with `count` GPUs or MIG slices of one size instead of its GPUs."""
    of_system = platform.system_gpus * count // platform.gpus
    return platform.model_copy(update={"gpus": count, "system_gpus": of_system})
