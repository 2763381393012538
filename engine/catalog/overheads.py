"""GPU memory of vLLM and the driver in addition to weights and KV cache, and start-up times.

overhead = load_overheads().of_vllm("0.32.0")     # the nearest measured version
overhead.high_gib
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from .figure import CatalogModel, Figure, Sources, read_catalog

Measured = Literal["measured"]


class NonKv(CatalogModel):
    """Memory overhead of vLLM on one GPU."""

    vllm: str
    """Major and minor version."""
    case: str
    low_gib: float
    high_gib: float
    n: int
    """Number of logs."""
    kind: Measured
    source: Sources


class ColdStart(CatalogModel):
    """Time from process start to the first answer."""

    case: str
    low_s: float
    high_s: float
    kind: Measured
    source: Sources


class EngineStart(CatalogModel):
    """Seconds from process start to the first answer on CPUs, without the reading of weights."""

    eager: Figure
    """With `enforce_eager`."""
    compiled: Figure
    """With compilation."""
    busy: Figure
    """On a machine with other work; for time-outs."""


class Overheads(CatalogModel):
    """Memory overheads and start-up times."""

    non_kv: tuple[NonKv, ...]
    driver_gib: Figure
    """GPU memory reserved by the driver."""
    asleep_gib: Figure
    """Memory of a GPU that a sleeping server keeps."""
    engine_start_s: EngineStart
    weights_read_gb_s: Figure
    """Read rate of weights in GB/s."""
    cold_start: tuple[ColdStart, ...]

    def of_vllm(self, version: str) -> NonKv:
        """Return the measurement of the nearest version."""
        wanted = _number(version)
        return min(self.non_kv, key=lambda each: abs(_number(each.vllm) - wanted))


def _number(version: str) -> int:
    major, minor = [*version.split("."), "0"][:2]
    return int(major) * 1000 + int(minor)


@cache
def load_overheads() -> Overheads:
    """Return the overheads of the catalogue; cached."""
    content = read_catalog("overheads")
    return Overheads.model_validate({key: value for key, value in content.items() if key != "read"})
