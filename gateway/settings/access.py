"""Who may call: teams, issuers of tokens, and the files that name the clients.

Three ways in, one kind of caller out: an API key, a token of the site's identity provider (OpenID Connect), or a client
certificate. Whatever the way, a caller is a name in a tenant with routes and surfaces he may use.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints, model_validator

from .model import Name, SettingsModel, encrypted_or_local
from .quota import CallerLimits
from .surface import SurfaceName

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures by key pair (RFC 7518 3.1, RFC 8037). The symmetric ones and `none` can't be written here."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Rights(SettingsModel):
    """What a caller may do. Of a client and his team, the narrower holds."""

    routes: list[Text] = Field(default_factory=list)
    """Model names; all of them when empty."""
    surfaces: list[SurfaceName] = Field(default_factory=list)
    """All of them when empty."""
    may_restore: bool = True
    """False: answers keep their tokens; this caller never sees the values behind them."""
    limits: CallerLimits = CallerLimits()
    """How much; of a client or person that has none, `quota.default_limits` holds."""


class TeamSettings(Rights):
    """Clients of one tenant who share rights and budgets."""

    name: Name
    tenant: Name


class GrantSettings(Rights):
    """What the members of a group of the identity provider may do."""

    group: Text
    tenant: Name
    team: Name | None = None
    is_admin: bool = False
    """May use the admin surface."""


class IdentityProviderSettings(SettingsModel):
    """An identity provider of the site whose tokens are accepted."""

    name: Name
    """Callers are called `NAME:SUBJECT`, so that they are never mistaken for a client of the same name."""
    issuer: Text
    """The `iss` of its tokens, letter by letter."""
    audience: Text
    """The `aud` that says a token is meant for this gateway."""
    jwks_file: Path | None = None
    """Its public keys as a file, read again when it changes; or `jwks_url`."""
    jwks_url: AnyHttpUrl | None = None
    """Its public keys over https, from a server of the site's own network."""
    ca_file: Path | None = None
    """Who signs the certificate of `jwks_url`; the system's authorities when absent."""
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = ("RS256", "PS256", "ES256", "EdDSA")
    leeway_s: Annotated[int, Field(ge=0, le=120)] = 30
    """For clocks that differ; a site's clocks do by far less than a second."""
    max_lifetime_s: Annotated[int, Field(ge=60, le=604_800)] = 86_400
    """`exp` minus `iat` at most: a token that lives for a year can't be called back."""
    required_claims: list[Text] = Field(default_factory=list)
    """Beside `iss`, `aud`, `sub`, `iat` and `exp`, which always are; `nbf` is heeded whenever it is there."""
    groups_claim: Text = "groups"
    """Where the groups are; a path with dots for nested claims, such as `realm_access.roles`."""
    refresh_s: Annotated[int, Field(ge=10, le=86_400)] = 300
    """How often `jwks_url` is asked; an unknown `kid` asks at once, at most every ten seconds."""
    max_stale_s: Annotated[int, Field(ge=60, le=604_800)] = 86_400
    """For how long keys are used when `jwks_url` does not answer. Afterwards nobody of this issuer is let in."""
    grants: Annotated[list[GrantSettings], Field(min_length=1)]
    """The first row whose group the caller is in decides; a caller in none of them is refused."""

    @model_validator(mode="after")
    def _one_source_of_keys(self) -> IdentityProviderSettings:
        if (self.jwks_file is None) == (self.jwks_url is None):
            raise ValueError(f"expected one of jwks_file and jwks_url, got {'both' if self.jwks_file else 'neither'}")
        if self.jwks_url is not None:
            encrypted_or_local(self.jwks_url)
        return self


class AccessSettings(SettingsModel):
    """Teams, issuers, and the clients made on this machine."""

    local_clients_file: Path | None = None
    """Clients that `sovctl gateway keys` manages on this machine, beside those of `clients_file`; made when absent."""
    reload_every_s: Annotated[float, Field(gt=0, le=3600)] = 2.0
    """How soon a key that was added or revoked counts, in every worker."""
    principal_key_files: list[Path] = Field(default_factory=list)
    """Ed25519 keys (PKCS#8 PEM) that sign `x-sovctl-principal`; made when absent. The first signs, the others are only
    published while it replaces them."""
    teams: list[TeamSettings] = Field(default_factory=list)
    identity_providers: list[IdentityProviderSettings] = Field(default_factory=list)

    @model_validator(mode="after")
    def _names_meet(self) -> AccessSettings:
        tenants = {team.name: team.tenant for team in self.teams}
        if len(tenants) != len(self.teams):
            raise ValueError("teams: expected names used once, got one twice")
        for what, values in (
            ("name", [i.name for i in self.identity_providers]),
            ("issuer", [i.issuer for i in self.identity_providers]),
        ):
            if len(set(values)) != len(values):
                raise ValueError(f"identity_providers: expected every {what} once, got one twice")
        for index, issuer in enumerate(self.identity_providers):
            for row, grant in enumerate(issuer.grants):
                if grant.team is not None and tenants.get(grant.team) != grant.tenant:
                    got = f"one of {tenants[grant.team]}" if grant.team in tenants else "none of that name"
                    place = f"identity_providers[{index}].grants[{row}].team"
                    raise ValueError(f"{place}: expected a team of tenant {grant.tenant}, got {got}")
        return self

    def team(self, name: str) -> TeamSettings | None:
        """The team of that name."""
        return next((team for team in self.teams if team.name == name), None)
