"""What may leave, and what a model name means."""

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
from .model import Name, SettingsModel
from .quota import Money
from .release import ReleaseSettings
from .routing import Fault, ShadowSettings

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
"""A kind, or a kind and one rule of the detector: `TAX_ID`, `TAX_ID/DE_TAX_ID`."""


Country = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]
"""ISO 3166-1 alpha-2."""


class RouteSettings(SettingsModel):
    """What a client's model name means. Policy may only narrow it."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    pool: Name | None = None
    """Where raw text may be served. Without one, what must stay on-prem is refused."""
    cloud: Name | None = None
    """Where tokenized text may be served."""
    prefer: Literal["pool", "cloud"] = "pool"
    max_cost_per_request: Money | None = None
    """In `quota.prices.currency`: what one request may cost at most, by its length and the longest answer it asks for.
    An upstream that may cost more is not asked."""
    escalate_on: list[Fault] = Field(default_factory=list)
    """Faults of an answer after which the next upstream is asked, as far as policy allows it; none by default, since
    each is paid for twice. The last upstream's answer is delivered as it is."""
    shadow: ShadowSettings | None = None
    """Record what a heuristic would have chosen by how hard a request looks; it never decides."""
    release: ReleaseSettings | None = None
    """What an answer must pass before the client sees it."""

    fallbacks: list[Name] = Field(default_factory=list)
    """Further pools and, where `cloud` is named, further clouds: asked after these, in this order."""

    @property
    def upstreams(self) -> tuple[str, ...]:
        """Those it names, in the order in which they are asked."""
        names = (self.cloud, self.pool) if self.prefer == "cloud" else (self.pool, self.cloud)
        return (*(name for name in names if name is not None), *self.fallbacks)


class Action(StrEnum):
    """What policy does with one kind of identifier when a request could leave."""

    TOKENIZE = "tokenize"
    MASK = "mask"  # `[KIND]`, which never comes back
    ON_PREM = "on-prem"
    BLOCK = "block"
    ALLOW = "allow"


class ObstacleAction(StrEnum):
    """What policy does with a request that can't be inspected or rewritten as a whole."""

    ON_PREM = "on-prem"
    BLOCK = "block"


class PolicyRule(SettingsModel):
    """One row of the policy table. What it does not name, it does not narrow."""

    entities: list[Entity] = Field(default_factory=list)
    """Kinds, such as `TAX_ID`, or single rules of the detector, such as `TAX_ID/DE_TAX_ID`; all when empty."""
    tenants: list[Name] = Field(default_factory=list)
    """All when empty."""
    routes: list[str] = Field(default_factory=list)
    """Model names of `routes`; all that name a cloud when empty. A route without a cloud can only be blocked on."""
    action: Action


class PolicySettings(SettingsModel):
    """What may leave: a table from general to specific, in which the last row that applies decides."""

    default: Action = Action.TOKENIZE
    """First row: every kind that is not listed."""
    entities: dict[str, Action] = Field(default_factory=dict)
    """Next rows: by kind, for all tenants and routes."""
    rules: list[PolicyRule] = Field(default_factory=list)
    """Further rows, from general to specific; see `compliance.policy_table` for what is refused."""
    name_languages: list[Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")]] = Field(default_factory=list)
    """Languages in which this site accepts the gateway's finding of names. Anything else stays on-prem."""
    obstacles: dict[Obstacle, ObstacleAction] = Field(default_factory=dict)
    """What can't be inspected, kind by kind; on-prem when it is not listed. Blocked on routes that name a cloud."""

    jurisdictions: list[Country] = Field(default_factory=list)
    """Under whose law a cloud may be that a request goes to; any when empty."""
    tenant_jurisdictions: dict[Name, Annotated[list[Country], Field(min_length=1)]] = Field(default_factory=dict)
    """The same for single tenants; of `jurisdictions`, where that names any."""

    @field_validator("entities")
    @classmethod
    def _known_kinds(cls, entities: dict[str, Action]) -> dict[str, Action]:
        for name in entities:
            _known_kind(name)
        return entities

    def table(self, routes: Iterable[RouteSettings]) -> Table:
        """All rows, for these routes."""
        return table_of(self, {route.model: route.cloud is not None for route in routes}, where="policy")

    def allows_law_of(self, jurisdiction: str | None, tenant: str) -> bool:
        """True when a tenant's tokens may go to a cloud under this law; None is not known."""
        allowed = self.tenant_jurisdictions.get(tenant) or self.jurisdictions
        return not allowed or jurisdiction in allowed

    def digest(self) -> str:
        """SHA-256 of the policy, for the audit record."""
        return digest(self.model_dump(mode="json"))
