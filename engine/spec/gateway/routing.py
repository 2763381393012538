"""Routes of the gateway, thresholds of load and limits of a request in site.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ..types import HostName, ModelName, Name, SpecModel
from .release import Release

_Pattern = Annotated[str, StringConstraints(min_length=1, max_length=200)]

Capability = Literal["tools", "json-schema", "vision", "audio", "reasoning"]
"""Feature of a request that not every model supports."""


Fault = Literal["empty", "truncated", "unknown-tool", "invalid-json"]
"""Fault of an answer after which a fallback can be tried."""


FallbackCause = Literal["unavailable", "context", "blocked", "bad-answer"]
"""Cause for which a fallback route is used."""


class WeightedUpstream(SpecModel):
    """An upstream of a group."""

    name: Name
    """Pool or cloud of the route."""
    weight: Annotated[int, Field(ge=1, le=1000)] = 1
    """Share of conversations, in proportion to the other weights of the group."""


class Shadow(SpecModel):
    """Upstreams that a heuristic would choose by the difficulty of a request. The choice is recorded and not
    applied."""

    simple: Name
    """Pool or cloud of the route for simple requests."""
    complex: Name
    """Pool or cloud of the route for all other requests."""


class ToolArgumentRule(SpecModel):
    """A rule for tokens in arguments of tool calls. The last matching rule applies, before the defaults."""

    tools: Annotated[list[_Pattern], Field(min_length=1)] = Field(default_factory=lambda: ["*"])
    """Names of tools; `*` matches any text."""
    arguments: Annotated[list[_Pattern], Field(min_length=1)] = Field(default_factory=lambda: ["*"])
    """Paths of arguments, keys joined by full stops (`message.to`); `*` matches any text."""
    action: Literal["restore", "keep-token", "refuse"]
    """`restore`: the tool gets the value. `keep-token`: it gets the token. `refuse`: the answer is withheld."""


class Route(SpecModel):
    """Upstreams for one model name of clients. Policy can remove upstreams and cannot add any."""

    model: ModelName
    """Model name in requests of clients."""
    pool: Name
    """Pool, or adapter of a pool (`pools[].lora`), that processes raw text."""
    cloud: Name | None = None
    """Cloud that may process tokenized text; on a hybrid site only."""
    prefer: Literal["pool", "cloud"] = "pool"
    """Upstream that is tried first if policy allows both."""
    max_cost_per_request: Annotated[float, Field(gt=0, le=1_000_000_000, allow_inf_nan=False)] | None = None
    """Maximum cost of one request in the currency of `prices`. An upstream that may cost more is not tried."""
    escalate_on: list[Fault] = Field(default_factory=list)
    """Faults of an answer after which the next pool or cloud is tried, if policy allows it. Both answers are paid for.
    The last upstream's answer is delivered even if it is faulty."""
    shadow: Shadow | None = None
    """Heuristic whose choice is recorded. Default: none."""
    release: Release | None = None
    """Checks on an answer before the client receives it. Default: none."""
    tool_arguments: list[ToolArgumentRule] = Field(default_factory=list)
    """Actions for tokens in arguments of tool calls. Default: tools and arguments that choose a host or are run
    (`fetch`, `shell`, `url`, `command`) get tokens; all others get values."""
    media_hosts: Annotated[list[HostName], Field(max_length=100)] = Field(default_factory=list)
    """Hosts from which the pools of the route may fetch images, audio, video and files, over https; each needs a
    perimeter exception. Default: none; media are sent in `data:` URLs."""
    fallbacks: list[Name] = Field(default_factory=list)
    """Further pools, and further clouds if `cloud` is set. They are tried after `pool` and `cloud`, in this order."""
    groups: Annotated[list[Annotated[list[WeightedUpstream], Field(min_length=2)]], Field(max_length=16)] = Field(
        default_factory=list
    )
    """Upstreams of the route that share its conversations by weight. A group is tried where its first member is;
    a conversation keeps its upstream while that works. Default: each upstream alone."""
    fallback_routes: Annotated[list[ModelName], Field(max_length=16)] = Field(default_factory=list)
    """Model names of other routes whose upstreams are tried after those of this route, under the stricter of both
    policies. Their own fallback routes are not used. Default: none."""
    fallback_on: Annotated[list[FallbackCause], Field(min_length=1)] = Field(
        default_factory=lambda: list[FallbackCause](["unavailable", "context"])
    )
    """Causes for which a fallback route is used: no upstream of the route serves, the request is too long for its
    models, a firewall in front of a cloud rejects it, or the answer has a fault of `escalate_on`."""


class Routing(SpecModel):
    """Thresholds above which a server counts as full, and other servers are tried first."""

    max_queue: Annotated[int, Field(ge=1, le=100_000)] = 5
    """Queued requests at a server, of all its clients."""
    max_kv_usage: Annotated[float, Field(gt=0, le=1)] = 0.8
    """Fraction of the server's KV cache in use."""
    hedge: bool = False
    """Whether to ask a second server for embeddings, rankings and scores if the first is unusually slow. Both are paid
    for."""
    resend_unanswered: bool = False
    """Whether a request that was sent and got no answer is sent again to another server of the same pool. It may then
    be processed twice. A client permits it for one request with the header `idempotency-key`."""


class RealtimeLimits(SpecModel):
    """Limits of sessions of realtime transcription. The audio of a session is limited as a recording is."""

    max_sessions: Annotated[int, Field(ge=1, le=10_000)] = 64
    """Maximum sessions of a worker at a time."""
    max_tenant_sessions: Annotated[int, Field(ge=1, le=10_000)] = 16
    """Maximum sessions of one tenant and worker at a time."""
    max_session_s: Annotated[int, Field(ge=1, le=86_400)] = 3600
    """Maximum duration of a session in seconds."""
    idle_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Seconds without an event of the client, after which its session ends."""


class Limits(SpecModel):
    """Limits of requests."""

    request_timeout_s: Annotated[float, Field(gt=0, le=7200)] = 600.0
    """Seconds until the first byte of the answer, over all attempts. A client may request a shorter timeout."""
    max_tenant_bytes_in_flight: Annotated[int, Field(ge=1024, le=1 << 40)] = 1 << 28
    """Maximum bytes of request bodies of one tenant that a worker holds at a time; a single request is always
    served."""
    max_concurrent_requests: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Requests that a worker serves at a time, streams until their end. Further requests wait, and each tenant gets its
    share of the turns. Choose the concurrency of the pools divided by the number of workers. Default: no limit, and no
    queue."""
    tenant_weights: dict[Name, Annotated[int, Field(ge=1, le=1000)]] = Field(default_factory=dict)
    """Shares of tenants in `max_concurrent_requests` while requests wait. Tenants that are not listed have 1."""
    queue_timeout_s: Annotated[float, Field(gt=0, le=7200)] = 60.0
    """Seconds that a request waits for its turn; after that it is refused with 429 `tenant_busy`."""
    max_recording_bytes: Annotated[int, Field(ge=1024, le=25 << 20)] = 25 << 20
    """Maximum bytes of a recording; at most those of vLLM, 25 MiB."""
    max_recording_s: Annotated[int, Field(ge=1, le=600)] = 600
    """Maximum duration of a recording in seconds, measured by decoding it; at most that of vLLM, 600 s."""
    realtime: RealtimeLimits = RealtimeLimits()
    """Limits of sessions of realtime transcription."""
    announce_s: Annotated[int, Field(ge=0, le=15)] = 5
    """Seconds before a gateway stops in which `/readyz` returns 503 and requests are still served. Use at least the
    interval of the load balancer's health checks."""
