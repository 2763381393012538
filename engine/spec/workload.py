"""What the pools are sized for, as site.yaml has it: who asks how much, and what is kept in reserve; a part of `spec`.

How often a class asks is said in one of four ways: a rate, a think time, a share in flight, or a rule of thumb that
somebody published. Lengths are a mean and a 95th percentile. What is left out follows from the kind of work; the
numbers behind it are in `sizing.demand`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from .sizing_inputs import Costs, Fabric, RackSpace, Scaling, Storage
from .types import Language, Name, SpecModel

_Tokens = Annotated[int, Field(ge=1, le=16_777_216)]
_LimitMs = Annotated[float, Field(gt=0, le=3_600_000)]


class WorkloadKind(StrEnum):
    """What the requests are like."""

    CHAT = "chat"
    RAG = "rag"
    AGENTS = "agents"
    VOICE = "voice"
    BATCH = "batch"


class RuleOfThumb(StrEnum):
    """How published guides get from people to requests; named, so that nobody takes them for a measurement."""

    SHARE_OF_A_SHARE = "online-15-in-flight-5-peak-3"
    EIGHT_IN_FLIGHT = "in-flight-8"
    WORKING_DAY = "working-day-150-peak-2"


class WorkloadClass(SpecModel):
    """One kind of use, for sizing."""

    name: Name
    """What sizing calls it."""
    pool: Name
    """One of `pools`."""
    kind: WorkloadKind = WorkloadKind.CHAT
    """What its requests are like; gives the numbers below that are left out."""
    users: Annotated[int, Field(ge=1, le=100_000_000)]
    """People or programs that there are."""
    online_percent: Annotated[float, Field(gt=0, le=100)] = 100.0
    """Percent of `users` at work at the busiest hour."""
    requests_per_user_hour: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """Of one user at work, at the busiest hour; the kind's when no other way is said."""
    think_time_s: Annotated[float, Field(ge=0, le=86_400)] | None = None
    """Instead of a rate: seconds from an answer's end to the same user's next request."""
    in_flight_percent: Annotated[float, Field(gt=0, le=100)] | None = None
    """Instead of a rate: percent of the users at work who wait for an answer at any moment."""
    rule_of_thumb: RuleOfThumb | None = None
    """Instead of all of these: a rule that a published guide uses, by what it says."""
    peak_factor: Annotated[float, Field(ge=1, le=100)] = 1.0
    """How much busier the worst minutes are than the busiest hour's average."""
    calls_per_request: Annotated[float, Field(ge=1, le=1000)] | None = None
    """Model calls that one request makes, one after the other: agents and tools; the kind's when absent."""
    input_tokens: _Tokens | None = None
    """Of one model call, on average; the kind's when absent."""
    input_tokens_p95: _Tokens | None = None
    """95th percentile; the kind's multiple of the average when absent."""
    output_tokens: _Tokens | None = None
    """Of one answer, on average; the kind's when absent."""
    output_tokens_p95: _Tokens | None = None
    """95th percentile; the kind's multiple of the average when absent."""
    prefix_hit_percent: Annotated[float, Field(ge=0, le=99)] = 0.0
    """Percent of the input that the prefix cache has already; 0 until you have measured it."""
    ttft_p95_ms: _LimitMs | None = None
    """Time to first token of a prompt of average length, 95th percentile, milliseconds; sizing also says where prompts
    of `input_tokens_p95` pass it."""
    itl_p95_ms: _LimitMs | None = None
    """Time between tokens, 95th percentile, milliseconds."""
    e2e_p95_ms: _LimitMs | None = None
    """Time to the last token of an answer of average length, 95th percentile, milliseconds."""
    languages: list[Language] = Field(default_factory=list)
    """ISO 639-1 codes of the languages that the pool's model must cover."""


class Reserve(SpecModel):
    """What is kept beyond what the workload needs, and how the workload grows."""

    spare_replicas: Annotated[int, Field(ge=0, le=64)] = 1
    """Replicas of each pool beyond what its workload needs: N+1."""
    failed_nodes: Annotated[int, Field(ge=0, le=16)] = 0
    """Nodes of a pool that may fail at once, the workload still served."""
    maintenance_nodes: Annotated[int, Field(ge=0, le=16)] = 0
    """Nodes of a pool that may be away for maintenance besides."""
    growth_percent_per_year: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """How much more is asked each year, in percent."""
    growth_years: Annotated[int, Field(ge=0, le=10)] = 0
    """For how many years to size."""


class Sizing(SpecModel):
    """What `sovctl size` reckons with beside the workload."""

    reserve: Reserve = Reserve()
    """What is kept in reserve."""
    racks: RackSpace | None = None
    """Where the racks stand; racks are not reckoned when absent."""
    fabric: Fabric = Fabric()
    """The compute network between nodes."""
    storage: Storage = Storage()
    """Where nodes keep weights."""
    costs: Costs | None = None
    """Your prices; money is not reckoned when absent."""
    tokens_per_step: dict[Name, Annotated[float, Field(ge=1, le=16)]] = Field(default_factory=dict)
    """By pool: tokens that one decode step yields with speculative decoding, as you measured it; 1 for the others."""
    scaling: Scaling = Scaling()
    """What an autoscaler is told."""
