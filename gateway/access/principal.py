"""The authenticated principal of a request, independent of the credential.

- Permissions of the team restrict those of the client.
- Names are unique in the gateway: a client's has no colon, a token's is `ISSUER:SUBJECT`.
- `key_id` identifies the key, token or certificate, and is not a credential.

    principal.may_use("assistant"), principal.may_use_surface("chat.completions"), principal.may_restore
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..settings import TeamSettings
from ..settings.access import ALL_TENANTS, Rights
from ..settings.traffic.quota import CallerLimits


class Method(StrEnum):
    """Type of the credential."""

    API_KEY = "api-key"
    TOKEN = "token"
    CERTIFICATE = "certificate"


@dataclass(frozen=True, slots=True)
class Principal:
    """One principal."""

    name: str
    tenant: str
    method: Method
    key_id: str
    """Beginning of the SHA-256 of the key, token or certificate."""
    team: str | None = None
    groups: tuple[str, ...] = ()
    """From the clients file or the identity provider; sorted."""
    routes: frozenset[str] | None = None
    """Model names; None: all."""
    surfaces: frozenset[str] | None = None
    may_restore: bool = True
    """False: answers keep their tokens."""
    is_admin: bool = False
    is_monitor: bool = False
    """Permission for metrics and the details of readiness."""
    admin_tenants: frozenset[str] = frozenset()
    """Tenants of an operator; `ALL_TENANTS` for all."""
    listed_hits_per_hour: int | None = None
    """Budget of listed names; None: the site's default."""
    limits: CallerLimits | None = None
    """Limits of the principal; None: the site's default."""
    subject: str = ""
    """Name under which usage is counted; not a personal name."""

    @property
    def is_person(self) -> bool:
        """Whether the name is that of a person at an identity provider, and not one of the settings."""
        return self.method is Method.TOKEN

    @property
    def client(self) -> str:
        """Name for audit records: of a person only the identity provider."""
        return self.name.partition(":")[0] if self.is_person else self.name

    def may_use(self, model: str) -> bool:
        """Return whether the principal may use `model`."""
        return self.routes is None or model in self.routes

    def may_administer(self, tenant: str) -> bool:
        """Return whether the principal is an operator of `tenant`."""
        return ALL_TENANTS in self.admin_tenants or tenant in self.admin_tenants

    def may_use_surface(self, surface: str) -> bool:
        """Return whether the principal may use `surface`."""
        return self.surfaces is None or surface in self.surfaces


def make_principal(
    name: str,
    *,
    tenant: str,
    method: Method,
    key_id: str,
    rights: Rights,
    team: TeamSettings | None,
    groups: Iterable[str] = (),
    is_admin: bool = False,
    is_monitor: bool = False,
    admin_tenants: Iterable[str] = (),
) -> Principal:
    """Return a principal with its permissions, restricted by its team's."""
    held = [rights] if team is None else [rights, team]
    return Principal(
        name=name,
        tenant=tenant,
        method=method,
        key_id=key_id,
        team=team.name if team else None,
        groups=tuple(sorted(set(groups))),
        routes=_common(each.routes for each in held),
        surfaces=_common(each.surfaces for each in held),
        may_restore=all(each.may_restore for each in held),
        is_admin=is_admin,
        is_monitor=is_monitor or is_admin,
        admin_tenants=frozenset({tenant, *admin_tenants}) if is_admin else frozenset(),
        listed_hits_per_hour=min(
            (each.listed_hits_per_hour for each in held if each.listed_hits_per_hour is not None), default=None
        ),
        limits=None if rights.limits.is_unlimited else rights.limits,
        subject=f"person:{_digest(name)}" if method is Method.TOKEN else f"client:{name}",
    )


def _digest(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=12, person=b"sovctl quota").hexdigest()


def _common(lists: Iterable[Sequence[str]]) -> frozenset[str] | None:
    """Return the intersection of the lists; an empty list means all."""
    named = [frozenset(each) for each in lists if each]
    return frozenset.intersection(*named) if named else None
