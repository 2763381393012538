"""Settings of routing: load thresholds, faults of answers, and the shadow heuristic."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..base.model import Name, SettingsModel


class Fault(StrEnum):
    """Fault of an answer after which a fallback can be asked; see `gateway/routing/bad_answer.py`."""

    EMPTY = "empty"
    TRUNCATED = "truncated"
    UNKNOWN_TOOL = "unknown-tool"
    INVALID_JSON = "invalid-json"


class FallbackCause(StrEnum):
    """Why a request may be sent to the upstreams of a fallback route."""

    UNAVAILABLE = "unavailable"
    """No upstream of the route could serve it: all failed, or none was usable."""
    CONTEXT = "context"
    """It is too long for a model of the route."""
    BLOCKED = "blocked"
    """A firewall in front of an upstream rejected it."""
    BAD_ANSWER = "bad-answer"
    """The answer had a fault that the route lists in `escalate_on`."""


class WeightedUpstream(SettingsModel):
    """An upstream of a group."""

    name: Name
    """Pool or cloud of the route."""
    weight: Annotated[int, Field(ge=1, le=1000)] = 1
    """Share of conversations, in proportion to the other weights of the group."""


class ShadowSettings(SettingsModel):
    """Upstreams that a heuristic would choose by the difficulty of a request. The choice is recorded and not
    applied."""

    simple: Name
    """Upstream for simple requests."""
    complex: Name
    """Upstream for all other requests."""


class RoutingSettings(SettingsModel):
    """Load thresholds of servers. `max_queue` and `max_kv_usage` have the defaults of the Gateway API Inference
    Extension (pkg/epp/saturationdetector/config.go, vendor, read 2026-11)."""

    max_queue: Annotated[int, Field(ge=1, le=100_000)] = 5
    """Queued requests at a server above which other servers are asked first."""
    max_kv_usage: Annotated[float, Field(gt=0, le=1)] = 0.8
    """Fraction of the KV cache in use above which other servers are asked first."""
    scrape_every_s: Annotated[float, Field(ge=0.05, le=60)] = 1.0
    """Interval in seconds at which each worker reads the metrics of each server; about 50 KB (vLLM 0.32, measured
    2026-11)."""
    hedge: bool = False
    """Whether to ask a second server for embeddings, rankings and scores if the first exceeds the 95th percentile of
    recent requests. Such requests are reserved twice, and paid for twice if both servers are asked."""
    resend_unanswered: bool = False
    """Whether a request that was sent and got no answer is sent again to the same upstream: to another server, or on a
    new connection. It may then be processed and paid for twice. A client permits it for one request with the header
    `idempotency-key`."""
    stale_after_s: Annotated[float, Field(ge=0.1, le=600)] = 5.0
    """Seconds after which metrics are ignored; then only the gateway's own requests in flight count."""
    drained_servers_file: Path | None = None
    """File with the servers that receive no new requests, written by `gateway servers drain`. Default: none; servers
    cannot be drained."""
