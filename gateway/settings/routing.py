"""When a server counts as full, which answers are bad, and what a heuristic would choose."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from .model import Name, SettingsModel


class Fault(StrEnum):
    """What makes an answer so bad that another model may be asked; see `routing.bad_answer`."""

    EMPTY = "empty"
    TRUNCATED = "truncated"
    UNKNOWN_TOOL = "unknown-tool"
    INVALID_JSON = "invalid-json"


class ShadowSettings(SettingsModel):
    """Which upstreams of a route a heuristic would choose, if it were asked; it is not, and only records that."""

    simple: Name
    """For requests that look simple."""
    complex: Name
    """For the others."""


class RoutingSettings(SettingsModel):
    """Thresholds of load. The two of vLLM's metrics are those of the gateway API inference extension
    (pkg/epp/saturationdetector/config.go, vendor, read 2026-11)."""

    max_queue: Annotated[int, Field(ge=1, le=100_000)] = 5
    """Requests that wait at a server before others are asked first."""
    max_kv_usage: Annotated[float, Field(gt=0, le=1)] = 0.8
    """Share of its KV cache that is taken, before others are asked first."""
    scrape_every_s: Annotated[float, Field(ge=0.05, le=60)] = 1.0
    """How often each worker reads the metrics of each server of a pool; some 50 KB (vLLM 0.32, measured 2026-11)."""
    hedge: bool = False
    """Ask a second server of a pool or cloud for embeddings, rankings and scores when the first takes longer than 95 of
    100 did lately. Such requests are reserved twice, and paid for twice where both were asked."""
    stale_after_s: Annotated[float, Field(ge=0.1, le=600)] = 5.0
    """Older figures count for nothing; then only our own requests in flight are known."""
