"""Acceptance limits of NCCL by board, nodes, collective, payload and NVLink SHARP; of RDMA by rate; of answers.

    load_benchmarks().nccl_limit("h100-sxm-8", nodes=1, gpus=8).minimum.value        # 460, in GB/s
    load_benchmarks().rdma_limit(400).write_minimum.value                            # 380, in Gbit/s

None: the catalogue has no limit, and the check is UNKNOWN.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from .figure import CatalogModel, Count, Figure, read_catalog

Collective = Literal["all_reduce"]
Processor = Literal["cpu", "gpu"]
GIB = 1 << 30
_NEAR = 0.05
"""Relative distance of two bandwidths with one cause (guess, 2026-11; runs differ by less than 1 %)."""


class NcclLimit(CatalogModel):
    """Limit of one collective."""

    profile: str
    """Check profile of the GPU board."""
    nodes: Literal["one", "several"]
    gpus: Count
    """GPUs of each node that take part."""
    collective: Collective
    payload_gib: Count
    nvls: bool | None = None
    """Whether NCCL uses NVLink SHARP on a healthy node; None if unknown."""
    minimum: Figure
    """Bus bandwidth."""
    without_nvls: Figure | None = None
    """Bus bandwidth of a healthy node without NVLink SHARP, or of nodes without multi-node NVLink."""

    @property
    def payload_bytes(self) -> int:
        """Payload in bytes."""
        return self.payload_gib * GIB


class RdmaLimit(CatalogModel):
    """Limits of one link by its nominal rate."""

    link_gbit_s: Count
    write_minimum: Figure
    """Bandwidth of RDMA writes between two nodes."""
    write_latency_max: Figure
    """Median latency of an RDMA write of 2 bytes between two nodes."""


class GoldenLimit(CatalogModel):
    """Limits of the comparison with recorded tokens."""

    logprob_tolerance: Figure
    """Difference of the log probability of a token that rounding explains."""


class FingerprintBand(CatalogModel):
    """Largest distance of log probabilities from the recorded ones."""

    processor: Processor
    build: Literal["same", "other"]
    """`same`: engine, quantization, ranks and GPU are the recorded ones; `other`: other kernels may run."""
    mean: Figure
    largest: Figure


class ToolCallLimit(CatalogModel):
    """Limit of tool calls that the model chooses."""

    least_called: Figure
    """Fraction of tasks in which the model calls a tool if it may also answer with text."""


class Benchmarks(CatalogModel):
    """All acceptance limits."""

    nccl: tuple[NcclLimit, ...]
    rdma: tuple[RdmaLimit, ...]
    golden: GoldenLimit
    fingerprint: tuple[FingerprintBand, ...]
    tool_calls: ToolCallLimit

    def fingerprint_band(self, processor: Processor, *, same_build: bool) -> FingerprintBand | None:
        """Return the band of a kind of processor; None if it is unknown."""
        wanted = (processor, "same" if same_build else "other")
        return next((row for row in self.fingerprint if (row.processor, row.build) == wanted), None)

    def nccl_limit(
        self, profile: str | None, *, nodes: int, gpus: int | None, collective: Collective = "all_reduce"
    ) -> NcclLimit | None:
        """Return the limit of a board; None if it is unknown."""
        span = "one" if nodes == 1 else "several"
        key = (profile, span, gpus, collective)
        rows = (row for row in self.nccl if (row.profile, row.nodes, row.gpus, row.collective) == key)
        return next(rows, None)

    def rdma_limit(self, link_gbit_s: float | None) -> RdmaLimit | None:
        """Return the limits of a rate; None if it is unknown."""
        return next((row for row in self.rdma if row.link_gbit_s == link_gbit_s), None)


def is_near(rate: float, reference: float | None) -> bool:
    """Return whether a bandwidth is that of a reference, such as the one without NVLink SHARP."""
    return reference is not None and abs(rate - reference) <= _NEAR * reference


@cache
def load_benchmarks() -> Benchmarks:
    """Return the limits of the catalogue; cached."""
    content = read_catalog("benchmarks")
    return Benchmarks.model_validate({name: value for name, value in content.items() if name != "read"})
