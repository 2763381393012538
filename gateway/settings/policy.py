"""Settings of routes and of policy."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from sovctl.compliance.egress_policy import Table, table_of
from sovctl.support.canonical_json import digest
from sovctl.support.suggestions import nearest

from ..domain.entities import EntityType
from ..domain.obstacles import Obstacle
from .answers.release import ReleaseSettings
from .answers.tool_arguments import ToolArgumentRule
from .base.model import Name, SettingsModel
from .base.urls import HostName
from .traffic.quota import Money
from .traffic.routing import FallbackCause, Fault, ShadowSettings, WeightedUpstream

_ENTITY_TYPES = [entity_type.value for entity_type in EntityType]


def _known_kind(name: str) -> str:
    if name not in _ENTITY_TYPES:
        near = nearest(name.upper(), _ENTITY_TYPES)
        raise ValueError(f"expected one of {', '.join(_ENTITY_TYPES)}, got {name}" + (f" ({near}?)" if near else ""))
    return name


def _known_entity(name: str) -> str:
    _known_kind(name.partition("/")[0])
    return name


Entity = Annotated[str, StringConstraints(pattern=r"^[^/]+(/[A-Z][A-Z0-9_]{0,60})?$"), AfterValidator(_known_entity)]
"""An entity type, or an entity type and one detector rule: `TAX_ID`, `TAX_ID/DE_TAX_ID`."""


Country = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]
"""ISO 3166-1 alpha-2."""


class RouteSettings(SettingsModel):
    """Upstreams for one model name of clients. Policy can remove upstreams and cannot add any."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    tenants: list[Name] = Field(default_factory=list)
    """Tenants for which the route exists. Clients of others get the answer for an unknown model. Default: all."""
    pool: Name | None = None
    """Pool that processes raw text. Without one, requests that must be processed on-prem are refused."""
    cloud: Name | None = None
    """Cloud that may process tokenized text."""
    prefer: Literal["pool", "cloud"] = "pool"
    max_cost_per_request: Money | None = None
    """Maximum cost of one request in `quota.prices.currency`, computed from its length and maximum answer length. An
    upstream that may cost more is not asked."""
    escalate_on: list[Fault] = Field(default_factory=list)
    """Faults of an answer after which the next upstream is asked, if policy allows it. Default: none, because both
    answers are paid for. The last upstream's answer is delivered even if it is faulty."""
    shadow: ShadowSettings | None = None
    """Heuristic choice by difficulty of the request, recorded and not applied. Default: none."""
    release: ReleaseSettings | None = None
    """Checks on an answer before the client receives it. Default: none."""

    media_hosts: Annotated[list[HostName], Field(max_length=100)] = Field(default_factory=list)
    """Hosts from which the pools of the route may fetch images, audio, video and files, over https. Default: none;
    media are sent in `data:` URLs."""

    tool_arguments: list[ToolArgumentRule] = Field(default_factory=list)
    """Actions for tokens in arguments of tool calls, by tool and argument. Default: tools and arguments that choose a
    host or are run (`fetch`, `shell`, `url`, `command`) get tokens; all others get values."""

    fallbacks: list[Name] = Field(default_factory=list)
    """Further pools, and further clouds if `cloud` is set. They are asked after `pool` and `cloud`, in this order."""

    groups: Annotated[list[Annotated[list[WeightedUpstream], Field(min_length=2)]], Field(max_length=16)] = Field(
        default_factory=list
    )
    """Upstreams of the route that share its conversations by weight. A group is asked where its first member is
    in the route's order; a conversation keeps its upstream while that works. Default: each upstream alone."""

    fallback_routes: Annotated[list[str], Field(max_length=16)] = Field(default_factory=list)
    """Model names of other routes whose upstreams are asked after those of this route, in this order, under the
    stricter of both policies. Their own fallback routes are not used. Default: none."""
    fallback_on: Annotated[list[FallbackCause], Field(min_length=1)] = Field(
        default_factory=lambda: [FallbackCause.UNAVAILABLE, FallbackCause.CONTEXT]
    )
    """Causes for which a fallback route is used."""

    @property
    def upstreams(self) -> tuple[str, ...]:
        """Names of all upstreams, in the order in which they are asked."""
        names = (self.cloud, self.pool) if self.prefer == "cloud" else (self.pool, self.cloud)
        return (*(name for name in names if name is not None), *self.fallbacks)

    def exists_for(self, tenant: str) -> bool:
        """Return whether clients of `tenant` see the route."""
        return not self.tenants or tenant in self.tenants


class Action(StrEnum):
    """Action for an identifier in a request that could be sent to a cloud."""

    TOKENIZE = "tokenize"
    MASK = "mask"  # replaced by `[TYPE]`, not restored
    ON_PREM = "on-prem"
    BLOCK = "block"
    ALLOW = "allow"


class ObstacleAction(StrEnum):
    """Action for a request that can't be inspected or rewritten completely."""

    ON_PREM = "on-prem"
    BLOCK = "block"


class PolicyRule(SettingsModel):
    """A row of the policy table. An empty field matches everything."""

    entity_types: list[Entity] = Field(default_factory=list)
    """Entity types such as `TAX_ID`, or single detector rules such as `TAX_ID/DE_TAX_ID`. Empty: all."""
    tenants: list[Name] = Field(default_factory=list)
    """Tenants. Empty: all."""
    routes: list[str] = Field(default_factory=list)
    """Model names of routes. Empty: all routes with a cloud. On a route without a cloud, only `block` is allowed."""
    action: Action


class PolicySettings(SettingsModel):
    """Actions for identifiers, as a table from general to specific rows. The last matching row applies."""

    default: Action = Action.TOKENIZE
    """First row: action for entity types that are not listed."""
    entity_types: dict[str, Action] = Field(default_factory=dict)
    """Next rows: action by entity type, for all tenants and routes."""
    rules: list[PolicyRule] = Field(default_factory=list)
    """Further rows, from general to specific; `compliance/egress_policy.py` describes which rows are rejected."""
    name_languages: list[Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")]] = Field(default_factory=list)
    """Languages in which the site accepts the gateway's name detection. Other requests are processed on-prem."""
    obstacles: dict[Obstacle, ObstacleAction] = Field(default_factory=dict)
    """Action by obstacle to inspection; default `on-prem`. `block` applies to routes with a cloud."""

    jurisdictions: list[Country] = Field(default_factory=list)
    """Allowed jurisdictions of clouds. Empty: all."""
    tenant_jurisdictions: dict[Name, Annotated[list[Country], Field(min_length=1)]] = Field(default_factory=dict)
    """Allowed jurisdictions by tenant; a subset of `jurisdictions` unless that is empty."""

    @field_validator("entity_types")
    @classmethod
    def _known_kinds(cls, entity_types: dict[str, Action]) -> dict[str, Action]:
        for name in entity_types:
            _known_kind(name)
        return entity_types

    def table(self, routes: Iterable[RouteSettings]) -> Table:
        """Return the policy table for these routes."""
        return table_of(self, {route.model: route.cloud is not None for route in routes}, where="policy")

    def allows_jurisdiction(self, jurisdiction: str | None, tenant: str) -> bool:
        """Return whether a tenant's tokenized text may be sent to a cloud in this jurisdiction; None: unknown."""
        allowed = self.tenant_jurisdictions.get(tenant) or self.jurisdictions
        return not allowed or jurisdiction in allowed

    def digest(self) -> str:
        """Return the SHA-256 of the policy, for the audit record."""
        return digest(self.model_dump(mode="json"))
