"""Who is calling, whatever way he showed it.

Rules: rights only narrow (a client's are cut by his team's); a name means one caller in the whole gateway (a client's
has no colon, a token's is `ISSUER:SUBJECT`); `key_id` says which key, token or certificate it was, and is none.

    principal.may_use("assistant"), principal.may_use_surface("chat.completions"), principal.may_restore
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..settings import TeamSettings
from ..settings.access import Rights
from ..settings.quota import CallerLimits


class Method(StrEnum):
    """How a caller showed who he is."""

    API_KEY = "api-key"
    TOKEN = "token"
    CERTIFICATE = "certificate"


@dataclass(frozen=True, slots=True)
class Principal:
    """One caller."""

    name: str
    tenant: str
    method: Method
    key_id: str
    """Which key, token or certificate: the beginning of its SHA-256."""
    team: str | None = None
    groups: tuple[str, ...] = ()
    """As the clients file or the identity provider says; sorted."""
    routes: frozenset[str] | None = None
    """Model names; None for all."""
    surfaces: frozenset[str] | None = None
    may_restore: bool = True
    """False: answers keep their tokens."""
    is_admin: bool = False
    limits: CallerLimits | None = None
    """His own; None where the site's default holds."""
    subject: str = ""
    """What his use is counted under; no name of a person."""

    def may_use(self, model: str) -> bool:
        """True when this caller may ask for `model`."""
        return self.routes is None or model in self.routes

    def may_use_surface(self, surface: str) -> bool:
        """True when this caller may use `surface`."""
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
) -> Principal:
    """A caller with his own rights, cut by his team's."""
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
        limits=None if rights.limits.is_unlimited else rights.limits,
        subject=f"person:{_digest(name)}" if method is Method.TOKEN else f"client:{name}",
    )


def _digest(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=12, person=b"sovctl quota").hexdigest()


def _common(lists: Iterable[Sequence[str]]) -> frozenset[str] | None:
    """What stands in every list; an empty list stands for everything."""
    named = [frozenset(each) for each in lists if each]
    return frozenset.intersection(*named) if named else None
