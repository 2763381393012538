"""`gateway.policy` of site.yaml: actions for identifiers in requests that could be sent to a cloud."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ..types import Country, Language, ModelName, Name, SpecModel, words

_NumberKind = Literal["IBAN", "CARD", "CRYPTO", "NATIONAL_ID", "HEALTH_ID", "TAX_ID", "ACCOUNT", "SWIFT"]
_PaperKind = Literal["PASSPORT", "DRIVING_LICENCE", "VEHICLE", "IMEI", "BIRTH_DATE", "ADDRESS"]
IdentifierKind = Literal[_NumberKind, _PaperKind, "EMAIL", "PHONE", "IP", "MAC", "SECRET", "PERSON", "ORG", "CUSTOM"]
"""Entity types of identifiers, which tokens replace; CUSTOM is that of the site's own recognizers."""
EntityKind = Literal[IdentifierKind, "SPECIAL_CATEGORY"]
"""Entity types that the gateway finds."""


NAME_LANGUAGES = ("ar", "de", "en", "es", "fr", "id", "pl", "ru")
"""Languages in which the gateway detects names by context, ISO 639-1."""
LISTED_LANGUAGES = frozenset((*NAME_LANGUAGES, "it", "kk", "nl", "pt", "tr"))
"""Languages in which the gateway finds people of the site's index (exact data match), ISO 639-1."""

Entity = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Z][A-Z_]{0,30}(/[A-Z][A-Z0-9_]{0,60})?$"),
    words("an entity type such as TAX_ID, or a type and a rule such as TAX_ID/DE_TAX_ID", kind="entity type"),
]
"""An entity type, or one detector rule of it."""


_Binary = Literal["image", "audio", "file", "data-uri", "encoded"]
_Unreadable = Literal["signed-thinking", "unknown-part", "token-ids", "key", "schema", "number", "too-many-identifiers"]
ObstacleKind = Literal[_Binary, _Unreadable]
"""Reason why the gateway can't inspect or rewrite a request; see docs/gateway.md."""


class Action(StrEnum):
    """Action for an identifier in a request that could be sent to a cloud."""

    TOKENIZE = "tokenize"
    MASK = "mask"
    ON_PREM = "on-prem"
    BLOCK = "block"
    ALLOW = "allow"


class PolicyRule(SpecModel):
    """A row of the policy table. An empty field matches everything."""

    entity_types: list[Entity] = Field(default_factory=list)
    """Entity types, or single detector rules such as `TAX_ID/DE_TAX_ID`. Empty: all."""
    tenants: list[Name] = Field(default_factory=list)
    """Tenants of clients. Empty: all."""
    routes: list[ModelName] = Field(default_factory=list)
    """Model names of routes. Empty: all routes with a cloud. On a route without a cloud, only `block` is allowed."""
    action: Action
    """Action for matching identifiers."""


class Policy(SpecModel):
    """Actions for identifiers, as a table from general to specific rows. The last matching row applies."""

    default: Action = Action.TOKENIZE
    """First row: action for entity types that are not listed. `mask` replaces the value by `[TYPE]`, without restoring
    it."""
    entity_types: dict[EntityKind, Action] = Field(default_factory=dict)
    """Next rows: action by entity type, for all tenants and routes. docs/gateway.md describes the entity types."""
    rules: Annotated[list[PolicyRule], Field(max_length=500)] = Field(default_factory=list)
    """Further rows by entity type, tenant and route, from general to specific. Contradictory rows and rows without
    effect are rejected."""
    name_languages: list[Language] = Field(default_factory=list)
    """Languages in which the site accepts the gateway's name detection, ISO 639-1. Requests in other or unrecognized
    languages are processed on-prem."""
    obstacles: dict[ObstacleKind, Literal["on-prem", "block"]] = Field(default_factory=dict)
    """Action for requests that can't be inspected or rewritten: `on-prem`, or `block` on routes with a cloud."""
    jurisdictions: list[Country] = Field(default_factory=list)
    """Allowed jurisdictions of clouds. Empty: all."""
    tenant_jurisdictions: dict[Name, Annotated[list[Country], Field(min_length=1)]] = Field(default_factory=dict)
    """Allowed jurisdictions by tenant; a subset of `jurisdictions` unless that is empty."""
