"""Authentication, permissions, limits and prices of the gateway in `site.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints

from ..types import FilePath, ModelName, Name, Port, SpecModel, words

Count = Annotated[int, Field(ge=1, le=10**15)]
Money = Annotated[float, Field(gt=0, le=10**9)]

GroupName = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,256}$"),
    words("a name of 1 to 256 characters", kind="group"),
]
"""Group name of the identity provider."""

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
"""Name of a claim in a token; dots separate nested claims."""


Currency = Annotated[
    str, StringConstraints(pattern=r"^[A-Z]{3}$"), words("three capital letters such as EUR, ISO 4217", kind="currency")
]
"""ISO 4217."""

Algorithm = Literal["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"]


class CallerLimits(SpecModel):
    """Limits of one client, person or team, over all workers of a gateway node. Absent limits do not apply. Days and
    months are in UTC."""

    requests_per_minute: Count | None = None
    """Requests in any 60 seconds."""
    tokens_per_minute: Count | None = None
    """Tokens of prompts and answers in any 60 seconds."""
    concurrent_requests: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Concurrent requests."""
    tokens_per_day: Count | None = None
    """Tokens of prompts and answers per day."""
    tokens_per_month: Count | None = None
    """Tokens of prompts and answers per month."""
    cost_per_day: Money | None = None
    """Cost per day in `gateway.prices.currency`."""
    cost_per_month: Money | None = None
    """Cost per month in `gateway.prices.currency`."""

    @property
    def has_cost(self) -> bool:
        """Whether a limit of cost is set, which requires prices."""
        return self.cost_per_day is not None or self.cost_per_month is not None


ListedHits = Annotated[int, Field(ge=1, le=10**9)]


class FailureLimits(SpecModel):
    """Limits of failed authentication in each worker of a gateway node. Beyond them an invalid credential gets 429
    instead of 401. A valid one is served."""

    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 30
    """Failures of one source address: an IPv4 address or an IPv6 network of /64."""
    total_per_minute: Annotated[int, Field(ge=1, le=10_000_000)] = 1000
    """Failures of all addresses."""


class GatewayAccess(SpecModel):
    """Protection against guesses of credentials and of listed names."""

    failures: FailureLimits = FailureLimits()
    """Limits of failed authentication."""
    listed_hits_per_hour: ListedHits = 10_000
    """Names and numbers of `detect.exact_data_match` that may be found in the requests of one client or person, in any
    hour from the first. Beyond it the caller is refused until the hour ends, because it may probe which names are
    listed. Each worker has an equal share."""


class Team(SpecModel):
    """Clients and people of one tenant with common permissions and budgets. A member has the narrower of its own and
    the team's permissions."""

    name: Name
    """Name that clients and grants refer to."""
    tenant: Name
    """Tenant of all members."""
    routes: list[ModelName] = Field(default_factory=list)
    """Model names that members may request. Empty: all."""
    may_restore: bool = True
    """False: answers to members keep their tokens."""
    listed_hits_per_hour: ListedHits | None = None
    """Listed names and numbers in the requests of one member. Default: `gateway.access.listed_hits_per_hour`."""
    limits: CallerLimits = CallerLimits()
    """Limits of all members together."""


class Grant(SpecModel):
    """Permissions of the members of one group of the identity provider."""

    group: GroupName
    """Group name in the token."""
    tenant: Name
    """Tenant of the members."""
    team: Name | None = None
    """One of `gateway.teams`, of the same tenant."""
    routes: list[ModelName] = Field(default_factory=list)
    """Model names that members may request. Empty: all."""
    may_restore: bool = True
    """False: answers to members keep their tokens."""
    is_admin: bool = False
    """Whether members may use the gateway's admin surface, for its tenant and `admin_tenants`."""
    admin_tenants: list[Name | Literal["*"]] = Field(default_factory=list)
    """Further tenants of an operator; `*` for all. Only an operator of all tenants may reload, drain and resume."""
    is_monitor: bool = False
    """Whether metrics and the details of `/readyz` may be read."""
    listed_hits_per_hour: ListedHits | None = None
    """Listed names and numbers in the requests of one member. Default: `gateway.access.listed_hits_per_hour`."""
    limits: CallerLimits = CallerLimits()
    """Limits of each member. Default: `gateway.quota.default_limits`."""


class IdentityProvider(SpecModel):
    """OpenID Connect provider of the site. The gateway verifies its tokens offline."""

    name: Name
    """Name of the provider; audit records name a person `NAME:SUBJECT`."""
    issuer: Annotated[str, Field(min_length=1, max_length=256)]
    """Exact value of the `iss` claim."""
    audience: Annotated[str, Field(min_length=1, max_length=256)]
    """Value of the `aud` claim in tokens for this gateway."""
    jwks_file: FilePath | None = None
    """File with its public keys, on the controller, relative to site.yaml; either this or `jwks_url`."""
    jwks_url: AnyHttpUrl | None = None
    """https URL of its public keys. The host is a private address; the firewall opens it for the gateway."""
    ca_file: FilePath | None = None
    """CA of the certificate of `jwks_url`, on the controller, relative to site.yaml."""
    algorithms: Annotated[list[Algorithm], Field(min_length=1)] = Field(
        default_factory=lambda: list[Algorithm](["RS256", "PS256", "ES256", "EdDSA"])
    )
    """Accepted signature algorithms."""
    token_types: Annotated[list[Annotated[str, Field(min_length=1, max_length=64)]], Field(min_length=1)] = Field(
        default_factory=lambda: ["at+jwt", "JWT"]
    )
    """Accepted values of `typ` in the header of a token; `absent` for tokens without it."""
    leeway_s: Annotated[int, Field(ge=0, le=120)] = 30
    """Tolerated clock difference in seconds."""
    groups_claim: Claim = "groups"
    """Claim with the groups; dots separate nested claims."""
    grants: Annotated[list[Grant], Field(min_length=1)]
    """Permissions by group. The first grant with a group of the caller applies; a caller without one is rejected."""


class Admin(SpecModel):
    """Listener for operators on every gateway node: page, API and metrics."""

    port: Port = 9443
    """Port of the listener; differs from the port for clients."""
    reach: Literal["node", "management"] = "node"
    """`node`: reachable on the node only, for example through an ssh tunnel. `management`: reachable from
    `perimeter.management`, with TLS."""
    requires_client_certificate: bool = False
    """Whether every connection needs a certificate of `gateway.client_ca_file`, in addition to any other credential."""


class Price(SpecModel):
    """Price of a cloud, or the internal price of a pool."""

    upstream: Name
    """Name of a pool or cloud."""
    input_price_per_million: Annotated[float, Field(ge=0, le=10**6)]
    """Price of 1,000,000 prompt tokens."""
    output_price_per_million: Annotated[float, Field(ge=0, le=10**6)]
    """Price of 1,000,000 answer tokens."""


class Prices(SpecModel):
    """Prices of tokens."""

    currency: Currency
    """Currency of all prices and cost limits."""
    upstreams: Annotated[list[Price], Field(min_length=1)]
    """Prices; one for each pool and cloud in `routes`."""
