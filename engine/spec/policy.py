"""What may leave, as site.yaml has it; a part of `spec`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .types import Country, Language, ModelName, Name, SpecModel, words

_NumberKind = Literal["IBAN", "CARD", "CRYPTO", "NATIONAL_ID", "HEALTH_ID", "TAX_ID", "ACCOUNT", "SWIFT"]
_PaperKind = Literal["PASSPORT", "DRIVING_LICENCE", "VEHICLE", "IMEI", "BIRTH_DATE"]
EntityKind = Literal[_NumberKind, _PaperKind, "EMAIL", "PHONE", "IP", "MAC", "SECRET", "PERSON", "ORG"]
"""What the gateway's detector can find, and policy can speak of."""


NAME_LANGUAGES = ("ar", "de", "en", "es", "fr", "id", "pl", "ru")
"""ISO 639-1 codes of the languages in which the gateway finds names by what stands around them."""
LISTED_LANGUAGES = frozenset((*NAME_LANGUAGES, "it", "kk", "nl", "pt", "tr"))
"""Those in which it finds the people of the site's own list."""

Entity = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Z][A-Z_]{0,30}(/[A-Z][A-Z0-9_]{0,60})?$"),
    words("a kind such as TAX_ID, or a kind and a rule such as TAX_ID/DE_TAX_ID", kind="entity"),
]
"""A kind, or one rule of the detector for it."""


_Binary = Literal["image", "audio", "file", "data-uri", "encoded"]
_Unreadable = Literal["signed-thinking", "unknown-part", "token-ids", "key", "schema", "number", "too-many-identifiers"]
ObstacleKind = Literal[_Binary, _Unreadable]
"""Why the gateway can't inspect a request, or can't rewrite it; docs/gateway.md says what each one is."""


class Action(StrEnum):
    """What policy does with one kind of identifier when a request could leave."""

    TOKENIZE = "tokenize"
    MASK = "mask"
    ON_PREM = "on-prem"
    BLOCK = "block"
    ALLOW = "allow"


class PolicyRule(SpecModel):
    """One more row of the policy table. What it does not name, it does not narrow."""

    entities: list[Entity] = Field(default_factory=list)
    """Kinds, or single rules of the detector, such as `TAX_ID/DE_TAX_ID`; all when empty."""
    tenants: list[Name] = Field(default_factory=list)
    """Tenants of clients; all when empty."""
    routes: list[ModelName] = Field(default_factory=list)
    """Model names of routes; all with a cloud when empty. On a route without one only `block` means something."""
    action: Action
    """What to do."""


class Policy(SpecModel):
    """What may leave: a table from general to specific. The last row that applies decides."""

    default: Action = Action.TOKENIZE
    """First row: every kind that the detector finds and that is not listed. `mask` is `[KIND]` and never comes back."""
    entities: dict[EntityKind, Action] = Field(default_factory=dict)
    """Next rows: by kind, for all tenants and routes; docs/gateway.md says what each kind is."""
    rules: Annotated[list[PolicyRule], Field(max_length=500)] = Field(default_factory=list)
    """Further rows by entity, tenant and route, from general to specific. Rows that contradict each other, or that
    decide nothing, are refused."""
    name_languages: list[Language] = Field(default_factory=list)
    """ISO 639-1 codes of the languages in which this site accepts the gateway's finding of names. A request in
    any other language, or in none that can be told, stays on-prem."""
    obstacles: dict[ObstacleKind, Literal["on-prem", "block"]] = Field(default_factory=dict)
    """What can't be inspected or rewritten: it stays on-prem, or is refused on routes that name a cloud."""
    jurisdictions: list[Country] = Field(default_factory=list)
    """Under whose law a cloud may be that a request goes to; any when empty."""
    tenant_jurisdictions: dict[Name, Annotated[list[Country], Field(min_length=1)]] = Field(default_factory=dict)
    """The same for single tenants of clients; of `jurisdictions`, where that names any."""
