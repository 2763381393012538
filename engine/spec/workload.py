"""Workload and reserve of site.yaml, for which pools are sized.

The request rate of a class has one of four forms: a rate, a think time, a percentage in flight, or a published rule of
thumb. Lengths are a mean and a 95th percentile. Defaults follow from the kind of work; `engine/sizing/demand` has them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from .sizing_inputs import Autoscaling, Costs, Fabric, RackSpace, Storage
from .types import Language, Name, SpecModel

_Tokens = Annotated[int, Field(ge=1, le=16_777_216)]
_LimitMs = Annotated[float, Field(gt=0, le=3_600_000)]


class WorkloadKind(StrEnum):
    """Kind of work, which gives the defaults of a workload class."""

    CHAT = "chat"
    RAG = "rag"
    AGENTS = "agents"
    VOICE = "voice"
    BATCH = "batch"


class RuleOfThumb(StrEnum):
    """Published rules that estimate requests from users. They are not measurements."""

    SHARE_OF_A_SHARE = "online-15-in-flight-5-peak-3"
    EIGHT_IN_FLIGHT = "in-flight-8"
    WORKING_DAY = "working-day-150-peak-2"


class WorkloadClass(SpecModel):
    """A group of users with similar requests, for sizing."""

    name: Name
    """Name of the class in sizing reports."""
    pool: Name
    """Name of one of `pools`."""
    kind: WorkloadKind = WorkloadKind.CHAT
    """Kind of work; gives the defaults of the fields below."""
    users: Annotated[int, Field(ge=1, le=100_000_000)]
    """Number of people or programs."""
    online_percent: Annotated[float, Field(gt=0, le=100)] = 100.0
    """Active users at the busiest hour, in percent of `users`."""
    requests_per_user_hour: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """Requests of one active user at the busiest hour. Default: the kind's, unless another rate field is set."""
    think_time_s: Annotated[float, Field(ge=0, le=86_400)] | None = None
    """Alternative to the rate: seconds from the end of an answer to the user's next request."""
    in_flight_percent: Annotated[float, Field(gt=0, le=100)] | None = None
    """Alternative to the rate: percent of active users with a request in flight at any moment."""
    rule_of_thumb: RuleOfThumb | None = None
    """Alternative to the rate: rule of thumb of a published guide."""
    peak_factor: Annotated[float, Field(ge=1, le=100)] = 1.0
    """Request rate of the peak minutes, divided by the average of the busiest hour."""
    calls_per_request: Annotated[float, Field(ge=1, le=1000)] | None = None
    """Sequential model calls of one request, by agents and tools. Default: the kind's."""
    input_tokens: _Tokens | None = None
    """Mean input tokens of one model call. Default: the kind's."""
    input_tokens_p95: _Tokens | None = None
    """95th percentile of input tokens. Default: the kind's multiple of the mean."""
    output_tokens: _Tokens | None = None
    """Mean output tokens of one answer. Default: the kind's."""
    output_tokens_p95: _Tokens | None = None
    """95th percentile of output tokens. Default: the kind's multiple of the mean."""
    prefix_hit_percent: Annotated[float, Field(ge=0, le=99)] = 0.0
    """Input tokens in the prefix cache, in percent; keep 0 until measured."""
    ttft_p95_ms: _LimitMs | None = None
    """Limit of the time to first token in milliseconds, 95th percentile, for a prompt of mean length. Sizing also
    reports whether prompts of `input_tokens_p95` exceed it."""
    itl_p95_ms: _LimitMs | None = None
    """Limit of the inter-token latency in milliseconds, 95th percentile."""
    e2e_p95_ms: _LimitMs | None = None
    """Limit of the time to the last token in milliseconds, 95th percentile, for an answer of mean length."""
    languages: list[Language] = Field(default_factory=list)
    """Languages that the pool's model must support, ISO 639-1."""


class Reserve(SpecModel):
    """Reserve capacity and growth of the workload."""

    spare_replicas: Annotated[int, Field(ge=0, le=64)] = 1
    """Replicas of each pool in addition to those that its workload needs (N+1)."""
    failed_nodes: Annotated[int, Field(ge=0, le=16)] = 0
    """Nodes of a pool that may fail simultaneously without loss of capacity."""
    maintenance_nodes: Annotated[int, Field(ge=0, le=16)] = 0
    """Nodes of a pool that may be in maintenance, in addition to failed nodes."""
    growth_percent_per_year: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """Growth of the workload per year in percent."""
    growth_years: Annotated[int, Field(ge=0, le=10)] = 0
    """Years of growth to size for."""


class Sizing(SpecModel):
    """Inputs of `sovctl size` other than the workload."""

    reserve: Reserve = Reserve()
    """Reserve capacity and growth."""
    racks: RackSpace | None = None
    """Racks for the nodes. Default: racks are not computed."""
    fabric: Fabric = Fabric()
    """Compute network between nodes."""
    storage: Storage = Storage()
    """Model store of the nodes."""
    costs: Costs | None = None
    """Prices. Default: costs are not computed."""
    tokens_per_step: dict[Name, Annotated[float, Field(ge=1, le=16)]] = Field(default_factory=dict)
    """Measured tokens per decode step with speculative decoding, by pool. Default: 1."""
    autoscaling: Autoscaling = Autoscaling()
    """Settings for an external autoscaler."""
