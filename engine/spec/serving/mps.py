"""Pools of one tenant that share a GPU at the same time by CUDA MPS (Multi-Process Service). Never run on a GPU."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..types import Name, SpecModel


class Mps(SpecModel):
    """Share of a pool in GPUs that it uses together with other pools of the same tenant. Never run on a GPU."""

    group: Name
    """MPS group. Its pools use the same GPUs at the same time, and have the same `tenant`."""
    tenant: Name
    """Tenant whose clients use the pool; routes to it exist for this tenant only. A fault of one process can end all
    processes on the GPU, so MPS does not separate tenants."""
    active_thread_percentage: Annotated[int, Field(ge=1, le=100)]
    """Upper limit of the GPU's threads for a server, in percent (`CUDA_MPS_ACTIVE_THREAD_PERCENTAGE`). It reserves
    none."""
    device_memory_gib: Annotated[int, Field(ge=1, le=1024)]
    """Upper limit of the GPU memory that a server can allocate (`CUDA_MPS_PINNED_DEVICE_MEM_LIMIT`), in GiB."""
