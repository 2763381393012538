"""What vLLM and the driver take of a GPU's memory beside weights and KV cache, and how long a start takes.

overhead = load_overheads().of_vllm("0.32.0")     # the nearest version that was measured
overhead.high_gib
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from .figure import CatalogModel, Figure, Sources, read_catalog

Measured = Literal["measured"]


class NonKv(CatalogModel):
    """Of one GPU, in one version of vLLM."""

    vllm: str
    """Major and minor version."""
    case: str
    low_gib: float
    high_gib: float
    n: int
    """Logs."""
    kind: Measured
    source: Sources


class ColdStart(CatalogModel):
    """From the start of the process to the first answer."""

    case: str
    low_s: float
    high_s: float
    kind: Measured
    source: Sources


class Overheads(CatalogModel):
    """All of it."""

    non_kv: tuple[NonKv, ...]
    driver_gib: Figure
    """What the driver keeps of the memory that it shows."""
    cold_start: tuple[ColdStart, ...]

    def of_vllm(self, version: str) -> NonKv:
        """The measurement whose version is nearest."""
        wanted = _number(version)
        return min(self.non_kv, key=lambda each: abs(_number(each.vllm) - wanted))


def _number(version: str) -> int:
    major, minor = [*version.split("."), "0"][:2]
    return int(major) * 1000 + int(minor)


@cache
def load_overheads() -> Overheads:
    """The catalogue's overheads."""
    content = read_catalog("overheads")
    return Overheads.model_validate({key: value for key, value in content.items() if key != "read"})
