"""What model names mean and when a server counts as full, as site.yaml has it; a part of `spec`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .release import Release
from .types import ModelName, Name, SpecModel

Capability = Literal["tools", "json-schema", "vision", "audio", "reasoning"]
"""Something that a request may ask for and not every model can do."""


Fault = Literal["empty", "truncated", "unknown-tool", "invalid-json"]
"""What makes an answer so bad that another model may be asked."""


class Shadow(SpecModel):
    """What a heuristic would choose by how hard a request looks; it is recorded, and never decides."""

    simple: Name
    """A pool or cloud of the route, for requests that look simple."""
    complex: Name
    """The same for the others."""


class Route(SpecModel):
    """What a client's model name means. Policy may only narrow it."""

    model: ModelName
    """The name clients ask for."""
    pool: Name
    """Where raw text may be served: a pool, or an adapter of one (`pools[].lora`)."""
    cloud: Name | None = None
    """Where tokenized text may be served, on a hybrid site."""
    prefer: Literal["pool", "cloud"] = "pool"
    """Which of the two is asked where policy leaves the choice."""
    max_cost_per_request: Annotated[float, Field(gt=0, le=1_000_000_000, allow_inf_nan=False)] | None = None
    """What one request may cost at most, in the currency of `prices`; what may cost more there is not asked."""
    escalate_on: list[Fault] = Field(default_factory=list)
    """Faults of a whole answer after which the next pool or cloud is asked, as far as policy allows it. Each is paid
    for twice; the last one's answer is delivered as it is."""
    shadow: Shadow | None = None
    """Record what a heuristic would have chosen; nothing is recorded when absent."""
    release: Release | None = None
    """What an answer must pass before the client sees it; nothing is checked when absent."""
    fallbacks: list[Name] = Field(default_factory=list)
    """Further pools and, where `cloud` is named, further clouds: asked after these, in this order."""


class Routing(SpecModel):
    """When a server counts as full, so that others are asked first."""

    max_queue: Annotated[int, Field(ge=1, le=100_000)] = 5
    """Requests that wait at a server, of all its clients."""
    max_kv_usage: Annotated[float, Field(gt=0, le=1)] = 0.8
    """Share of its KV cache that is taken."""
    hedge: bool = False
    """Ask a second server for embeddings, rankings and scores when the first takes unusually long; both are paid."""


class Limits(SpecModel):
    """Limits of one request."""

    request_timeout_s: Annotated[float, Field(gt=0, le=7200)] = 600.0
    """Seconds until the first byte of the answer, over all attempts. A client may request a shorter timeout."""
