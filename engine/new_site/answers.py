"""Answers from which a site.yaml is written, and their questions. Pure.

Types and ranges are those of site.yaml. Every answer has a default, so that a part of the questions is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError

from sovctl.compliance.controls.builtin_packs import pack_names
from sovctl.support.errors import InputError
from sovctl.support.suggestions import nearest

from ..catalog import load_catalog
from ..documents.licence_gate import EU
from ..spec import Placement
from ..spec.types import CatalogId, Country, ModelName, Name, SpecModel

_Text = Annotated[str, StringConstraints(min_length=3, max_length=100)]
_Addresses = Annotated[list[IPv4Address], Field(min_length=1, max_length=256)]
_BASE_PACK = "nist-800-53-moderate"


class NewSite(SpecModel):
    """Answers for a new site. Addresses of the defaults are invented."""

    name: Name = "my-site"
    country: Country = "DE"
    packs: Annotated[list[CatalogId], Field(min_length=1)] = Field(default_factory=lambda: [_BASE_PACK])
    platform: CatalogId = "dgx-h100"
    nodes: _Addresses = Field(default_factory=lambda: [IPv4Address("10.20.1.11"), IPv4Address("10.20.1.12")])
    service_nodes: _Addresses = Field(default_factory=lambda: [IPv4Address("10.20.1.31")])
    controller: IPv4Address = IPv4Address("10.20.0.2")
    clients: IPv4Network = IPv4Network("10.30.0.0/16")
    mirror: IPv4Address = IPv4Address("10.20.0.5")
    ntp: Annotated[list[IPv4Address], Field(min_length=1, max_length=8)] = Field(
        default_factory=lambda: [IPv4Address("10.20.0.5")]
    )
    dns: Annotated[list[IPv4Address], Field(max_length=3)] = Field(default_factory=list)
    users: Annotated[int, Field(ge=1, le=100_000_000)] = 100
    models: Annotated[list[CatalogId], Field(min_length=1, max_length=8)] = Field(default_factory=lambda: ["qwen3-8b"])
    licences_by: _Text | None = None
    licences_because: Annotated[str, StringConstraints(min_length=10, max_length=500)] | None = None
    issuer: Annotated[str, StringConstraints(pattern=r"^https://[\x21-\x7e]{1,240}$")] | None = None
    cloud: IPv4Address | None = None
    cloud_model: ModelName = "large-instruct"
    cloud_country: Country | None = None
    cloud_by: _Text | None = None

    @property
    def placement(self) -> Placement:
        """`hybrid` with a cloud."""
        return Placement.HYBRID if self.cloud else Placement.ON_PREM


Values = Mapping[str, Any]
"""Answers so far, by field."""


def _always(_: Values) -> bool:
    return True


def _has_cloud(values: Values) -> bool:
    return bool(values.get("cloud"))


def _has_conditions(values: Values) -> bool:
    """Return whether the licence of a chosen model has conditions."""
    models = load_catalog().models
    return any(models[each].licence.needs_approval for each in values.get("models", ()))


@dataclass(frozen=True)
class Question:
    """A question of `sovctl init`.

    Args:
        field: of `NewSite`; also the name for `--set`.
        applies: whether the question is asked after the answers so far.
        is_optional: whether an empty answer is permitted.
    """

    field: str
    text: str
    applies: Callable[[Values], bool] = _always
    is_optional: bool = False


QUESTIONS = (
    Question("name", "name of the site"),
    Question("country", "country whose law applies, such as DE"),
    Question("packs", "control frameworks of reports, separated by commas"),
    Question("platform", "platform of the GPU nodes"),
    Question("nodes", "addresses of the GPU nodes, separated by commas"),
    Question("service_nodes", "addresses of the service nodes, which run the gateway"),
    Question("controller", "address of this controller on the management network"),
    Question("clients", "network of the applications"),
    Question("mirror", "address of the site's mirror"),
    Question("ntp", "addresses of NTP servers"),
    Question("dns", "addresses of name servers, empty for none", is_optional=True),
    Question("users", "users of each model at the busiest hour"),
    Question("models", "models, separated by commas"),
    Question("licences_by", "role that approved the conditional licences of these models", _has_conditions),
    Question("licences_because", "reason why their conditions are met", _has_conditions),
    Question("issuer", "https URL of the OpenID Connect issuer, empty for API keys only", is_optional=True),
    Question("cloud", "address of one permitted cloud, empty for none", is_optional=True),
    Question("cloud_model", "model name at the cloud", _has_cloud),
    Question("cloud_country", "country of the cloud", _has_cloud),
    Question("cloud_by", "role that approved the firewall exception for the cloud", _has_cloud),
)
BY_FIELD = {each.field: each for each in QUESTIONS}
_LISTS = frozenset(name for name, field in NewSite.model_fields.items() if "list[" in str(field.annotation))


def parse(field: str, text: str) -> Any:
    """Return the value of an answer; None for an empty optional one.

    Raises:
        InputError: unknown field, or not a value of it; the hint has the permitted ones of the catalogue.
    """
    if field not in BY_FIELD:
        raise InputError(f"unknown field {field[:40]!r}", where="--set", hint=f"use one of {', '.join(BY_FIELD)}")
    words = [each.strip() for each in text.split(",") if each.strip()]
    value = words if field in _LISTS else text.strip()
    if not value:
        if BY_FIELD[field].is_optional:
            return [] if field in _LISTS else None
        raise InputError("expected a value, got none", where=field)
    try:
        found = getattr(NewSite.model_validate({field: value}, strict=False), field)
    except ValidationError as error:
        raise InputError(error.errors(include_url=False)[0]["msg"].lower(), where=field) from None
    if known := choices(field):
        for each in words:
            if each not in known:
                near = nearest(each, known)
                hint = f"did you mean {near}?" if near else f"use one of {', '.join(known)}"
                raise InputError(f"unknown value {each[:60]!r}", where=field, hint=hint)
    return found


def choices(field: str) -> list[str]:
    """Return the permitted values of a field of the catalogue; empty for another field."""
    catalog = load_catalog()
    match field:
        case "platform":
            return [each.id for each in catalog.platforms.values() if each.gpu]
        case "packs":
            return list(pack_names())
        case "models":
            return [each.id for each in catalog.models.values() if each.role == "chat" and not each.lab_only]
        case _:
            return []


def default(field: str, values: Values) -> str:
    """Return the default of a question as text, for the answers so far; empty for none.

    Approvals are never proposed: a person gives them.
    """
    country = values.get("country", "DE")
    match field:
        case "packs":
            residency = f"residency-{'eu' if country in EU else country.lower()}"
            return ",".join([_BASE_PACK, *([residency] if residency in pack_names() else [])])
        case "cloud_country":
            return str(country)
    value = getattr(NewSite(), field)
    return ",".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def with_defaults(given: Values) -> NewSite:
    """Return the answers with the defaults of the others."""
    values = dict(given)
    for question in QUESTIONS:
        if question.field not in values and (text := default(question.field, values)):
            values[question.field] = parse(question.field, text)
    return NewSite.model_construct(**{name: values.get(name, getattr(NewSite(), name)) for name in BY_FIELD})
