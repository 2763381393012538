"""A pool that leaves the prefill of long prompts to another pool (disaggregated prefill)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from ..types import Name, SpecModel


class Transport(StrEnum):
    """Network that transfers the KV cache."""

    RDMA = "rdma"
    TCP = "tcp"


class Prefill(SpecModel):
    """The prefilling pool of a pool. The gateway sends long prompts there first, and the cache is transferred."""

    pool: Name
    """Pool of the same model that prefills. No route may name it."""
    min_uncached_tokens: Annotated[int, Field(ge=1, le=16_777_216)]
    """Least estimated prompt tokens for which `pool` prefills; tokens in the cache of this pool do not count."""
    kv_lease_s: Annotated[int, Field(ge=12, le=3600)] = 300
    """Seconds for which the prefilling server keeps a cache that was not read. The gateway uses it in the first half,
    and discards an answer that begins after the lease."""
    transport: Transport = Transport.RDMA
    """Network between the pools. `rdma`: compute ports; UCX does not fall back to TCP. `tcp`: an exception for
    `vllm-cpu` in a lab, which `sovctl plan` shows."""
