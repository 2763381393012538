"""Settings of authentication and permissions: teams, identity providers, and files of clients.

A caller authenticates with an API key, a token of an identity provider (OpenID Connect), or a client certificate. Each
caller has a name, a tenant, and permitted routes and surfaces.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints, model_validator

from .base.model import Name, SettingsModel
from .base.surface import SurfaceName
from .base.urls import encrypted_or_local
from .traffic.quota import CallerLimits

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Asymmetric signature algorithms (RFC 7518 3.1, RFC 8037); symmetric algorithms and `none` are rejected."""

ABSENT = "absent"
"""Entry of `token_types` for tokens without `typ`."""
ALL_TENANTS = "*"
"""Entry of `admin_tenants` for all tenants."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Rights(SettingsModel):
    """Permissions of a caller. A team member has the narrower of its own and the team's permissions."""

    routes: list[Text] = Field(default_factory=list)
    """Permitted model names. Empty: all."""
    surfaces: list[SurfaceName] = Field(default_factory=list)
    """Permitted APIs. Empty: all."""
    may_restore: bool = True
    """False: answers keep their tokens, and the caller never receives the original values."""
    listed_hits_per_hour: Annotated[int, Field(ge=1, le=10**9)] | None = None
    """Names and numbers of the site's list that may be found in the caller's requests. Default:
    `access.listed_hits_per_hour`."""
    limits: CallerLimits = CallerLimits()
    """Limits of the caller. Default for a client or person: `quota.default_limits`."""


class OperatorRights(SettingsModel):
    """Permissions of operators and of monitoring."""

    is_admin: bool = False
    """Permission for the admin surface: the own tenant and `admin_tenants`."""
    admin_tenants: list[Name | Literal["*"]] = Field(default_factory=list)
    """Further tenants of an operator; `*` for all. An operator of all tenants may also reload, drain and resume."""
    is_monitor: bool = False
    """Permission for `/metrics` and the details of `/readyz`."""


class TeamSettings(Rights):
    """Clients and people of one tenant with common permissions and budgets."""

    name: Name
    tenant: Name


class GrantSettings(Rights, OperatorRights):
    """Permissions of the members of one group of the identity provider."""

    group: Text
    tenant: Name
    team: Name | None = None


class IdentityProviderSettings(SettingsModel):
    """OpenID Connect provider whose tokens the gateway accepts."""

    name: Name
    """Name of the provider. A caller is named `NAME:SUBJECT`, which differs from every client name."""
    issuer: Text
    """Exact value of the `iss` claim."""
    audience: Text
    """Value of the `aud` claim in tokens for this gateway."""
    jwks_file: Path | None = None
    """File with its public keys, reloaded on change; either this or `jwks_url`."""
    jwks_url: AnyHttpUrl | None = None
    """https URL of its public keys, on a server inside the site."""
    ca_file: Path | None = None
    """CA of the certificate of `jwks_url`. Default: the system's CAs."""
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = ("RS256", "PS256", "ES256", "EdDSA")
    token_types: Annotated[tuple[Text, ...], Field(min_length=1)] = ("at+jwt", "JWT")
    """Accepted values of `typ` in the header of a token (RFC 9068, 2.1); `absent` for tokens without it."""
    leeway_s: Annotated[int, Field(ge=0, le=120)] = 30
    """Tolerated clock difference in seconds; synchronized clocks differ by less than 1 s."""
    max_lifetime_s: Annotated[int, Field(ge=60, le=604_800)] = 86_400
    """Maximum `exp` minus `iat` in seconds, because tokens cannot be revoked."""
    required_claims: list[Text] = Field(default_factory=list)
    """Claims required in addition to `iss`, `aud`, `sub`, `iat` and `exp`. `nbf` is checked if present."""
    groups_claim: Text = "groups"
    """Claim with the groups; dots separate nested claims, such as `realm_access.roles`."""
    refresh_s: Annotated[int, Field(ge=10, le=86_400)] = 300
    """Refresh interval of `jwks_url` in seconds. An unknown `kid` causes an immediate refresh, at most every 10 s."""
    max_stale_s: Annotated[int, Field(ge=60, le=604_800)] = 86_400
    """Seconds for which keys stay valid while `jwks_url` is unreachable. Afterwards tokens of this issuer are
    rejected."""
    grants: Annotated[list[GrantSettings], Field(min_length=1)]
    """Permissions by group. The first grant with a group of the caller applies; a caller without one is rejected."""

    @model_validator(mode="after")
    def _check_key_source(self) -> IdentityProviderSettings:
        if (self.jwks_file is None) == (self.jwks_url is None):
            raise ValueError(f"expected one of jwks_file and jwks_url, got {'both' if self.jwks_file else 'neither'}")
        if self.jwks_url is not None:
            encrypted_or_local(self.jwks_url)
        return self


class FailureLimits(SettingsModel):
    """Limits of failed authentication in each worker. Beyond them an invalid credential gets 429 instead of 401. A
    valid one is served."""

    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 30
    """Failures of one source address, an IPv4 address or an IPv6 network of /64. 30: guess, 2026-11."""
    total_per_minute: Annotated[int, Field(ge=1, le=10_000_000)] = 1000
    """Failures of all addresses. 1,000: guess, 2026-11."""


class AccessSettings(SettingsModel):
    """Teams, identity providers, and local clients."""

    failures: FailureLimits = FailureLimits()
    listed_hits_per_hour: Annotated[int, Field(ge=1, le=10**9)] = 10_000
    """Names and numbers of the site's list that may be found in the requests of one client or person, in any hour from
    the first. Beyond it the caller is refused until the hour ends, because it may probe which names are listed. Each
    worker has an equal share. 10,000: guess, 2026-11; a chat that resends its history counts each name again."""
    local_clients_file: Path | None = None
    """File of clients managed by `sovctl gateway keys`, in addition to `clients_file`; created if absent."""
    local_clients_sha256_file: Path | None = None
    """File with the SHA-256 of `local_clients_file`, which `sovctl gateway keys` writes; not writable for the gateway's
    user. Another file of clients gives no access. Required with `local_clients_file`."""
    reload_every_s: Annotated[float, Field(gt=0, le=3600)] = 2.0
    """Seconds until every worker applies an added or revoked key."""
    principal_key_files: list[Path] = Field(default_factory=list)
    """Ed25519 keys (PKCS#8 PEM) that sign `x-sovctl-principal`; created if absent. The first one signs; the others are
    only published, during key rotation."""
    teams: list[TeamSettings] = Field(default_factory=list)
    identity_providers: list[IdentityProviderSettings] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check_local_clients(self) -> AccessSettings:
        if self.local_clients_sha256_file is not None and self.local_clients_file is None:
            raise ValueError("local_clients_sha256_file: expected local_clients_file with it, got none")
        if self.local_clients_file is not None and self.local_clients_sha256_file is None:
            raise ValueError("local_clients_file: expected local_clients_sha256_file with it, got none")
        return self

    @model_validator(mode="after")
    def _check_names(self) -> AccessSettings:
        tenants = {team.name: team.tenant for team in self.teams}
        if len(tenants) != len(self.teams):
            raise ValueError("teams: names must be unique")
        for what, values in (
            ("name", [i.name for i in self.identity_providers]),
            ("issuer", [i.issuer for i in self.identity_providers]),
        ):
            if len(set(values)) != len(values):
                raise ValueError(f"identity_providers: every {what} must be unique")
        for index, issuer in enumerate(self.identity_providers):
            for row, grant in enumerate(issuer.grants):
                if grant.team is not None and tenants.get(grant.team) != grant.tenant:
                    got = f"one of {tenants[grant.team]}" if grant.team in tenants else "none of that name"
                    place = f"identity_providers[{index}].grants[{row}].team"
                    raise ValueError(f"{place}: expected a team of tenant {grant.tenant}, got {got}")
        return self

    def team(self, name: str) -> TeamSettings | None:
        """Return the team with this name; None if it does not exist."""
        return next((team for team in self.teams if team.name == name), None)
