"""Who may call the gateway and how much, as site.yaml has it; a part of `spec`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints

from .types import FilePath, ModelName, Name, Port, SpecModel, words

Count = Annotated[int, Field(ge=1, le=10**15)]
Money = Annotated[float, Field(gt=0, le=10**9)]

GroupName = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,256}$"),
    words("a name of 1 to 256 characters", kind="group"),
]
"""A group, as the identity provider calls it."""

CertificateName = Annotated[
    str,
    StringConstraints(pattern=r"^(dns|uri|email|cn|sha256):[!-~][ -~]{0,254}$"),
    words("a name in a certificate such as dns:branch.bank.example", kind="certificate name"),
]
"""A name in a client certificate."""

Claim = Annotated[
    str,
    StringConstraints(pattern=r"^[!-~]{1,256}$"),
    words("a claim such as groups or realm_access.roles", kind="claim"),
]
"""Where a token says something."""


Currency = Annotated[
    str, StringConstraints(pattern=r"^[A-Z]{3}$"), words("three capital letters such as EUR, ISO 4217", kind="currency")
]
"""ISO 4217."""

Algorithm = Literal["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"]


class CallerLimits(SpecModel):
    """Limits of one client, one person or one team, over all workers of a gateway node; what is absent is unlimited.
    Days and months are UTC's."""

    requests_per_minute: Count | None = None
    """In any 60 seconds, not on average."""
    tokens_per_minute: Count | None = None
    """Of prompts and answers, in any 60 seconds."""
    concurrent_requests: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """At once."""
    tokens_per_day: Count | None = None
    """Of prompts and answers."""
    tokens_per_month: Count | None = None
    """Of prompts and answers."""
    cost_per_day: Money | None = None
    """In `gateway.prices.currency`."""
    cost_per_month: Money | None = None
    """In `gateway.prices.currency`."""

    @property
    def has_cost(self) -> bool:
        """True when prices are needed to hold them."""
        return self.cost_per_day is not None or self.cost_per_month is not None


class Team(SpecModel):
    """Clients and people of one tenant who share rights and budgets. Of theirs and the team's, the narrower holds."""

    name: Name
    """What clients and grants refer to."""
    tenant: Name
    """Of all its members."""
    routes: list[ModelName] = Field(default_factory=list)
    """Model names its members may ask for; all of them when empty."""
    may_restore: bool = True
    """False: its members' answers keep their tokens."""
    limits: CallerLimits = CallerLimits()
    """Of all members together."""


class Grant(SpecModel):
    """What the members of a group of the identity provider may do."""

    group: GroupName
    """As the token has it."""
    tenant: Name
    """Whose tokens they may restore."""
    team: Name | None = None
    """One of `gateway.teams`, of the same tenant."""
    routes: list[ModelName] = Field(default_factory=list)
    """Model names they may ask for; all of them when empty."""
    may_restore: bool = True
    """False: their answers keep their tokens."""
    is_admin: bool = False
    """May use the gateway's admin surface."""
    limits: CallerLimits = CallerLimits()
    """Of each of them; `gateway.default_limits` when there are none."""


class IdentityProvider(SpecModel):
    """An identity provider of the site whose tokens the gateway verifies, offline."""

    name: Name
    """Its people are called `NAME:SUBJECT` in audit records."""
    issuer: Annotated[str, Field(min_length=1, max_length=256)]
    """The `iss` of its tokens, letter by letter."""
    audience: Annotated[str, Field(min_length=1, max_length=256)]
    """The `aud` that says a token is meant for this gateway."""
    jwks_file: FilePath | None = None
    """Its public keys, on the controller, relative to site.yaml; or `jwks_url`."""
    jwks_url: AnyHttpUrl | None = None
    """Its public keys by https; the host is a private address, which the wall opens for the gateway."""
    ca_file: FilePath | None = None
    """Who signs the certificate of `jwks_url`, on the controller, relative to site.yaml."""
    algorithms: Annotated[list[Algorithm], Field(min_length=1)] = Field(
        default_factory=lambda: list[Algorithm](["RS256", "PS256", "ES256", "EdDSA"])
    )
    """Signatures that are accepted."""
    leeway_s: Annotated[int, Field(ge=0, le=120)] = 30
    """Seconds by which clocks may differ."""
    groups_claim: Claim = "groups"
    """Where tokens have the groups; dots lead into nested claims."""
    grants: Annotated[list[Grant], Field(min_length=1)]
    """The first one whose group the caller is in decides; a caller in none is refused."""


class Admin(SpecModel):
    """The operators' own listener on every gateway node: page, API and metrics."""

    port: Port = 9443
    """Beside the clients' port."""
    reach: Literal["node", "management"] = "node"
    """`node`: from the node itself, as through an ssh tunnel. `management`: from `perimeter.management`, with TLS."""
    requires_client_certificate: bool = False
    """Nobody connects without a certificate of `gateway.client_ca_file`, whatever else he shows."""


class Price(SpecModel):
    """What an upstream charges, or what the site charges its teams for a pool of its own."""

    upstream: Name
    """A pool or a cloud."""
    input_price_per_million: Annotated[float, Field(ge=0, le=10**6)]
    """Per 1,000,000 tokens of prompts."""
    output_price_per_million: Annotated[float, Field(ge=0, le=10**6)]
    """Per 1,000,000 tokens of answers."""


class Prices(SpecModel):
    """What tokens cost."""

    currency: Currency
    """Of every price and every limit of cost."""
    upstreams: Annotated[list[Price], Field(min_length=1)]
    """One for every pool and cloud that routes name."""
