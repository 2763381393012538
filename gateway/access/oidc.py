"""Tokens of the site's identity provider (OpenID Connect, RFC 7519, RFC 9068), verified offline.

Rules (RFC 8725):

- Only asymmetric algorithms that the settings list are accepted; the key is selected by `kid`, and its type must match.
- `iss`, `aud`, `sub`, `iat` and `exp` are required and checked; `nbf` is checked if present.
- A token bound to a certificate (`cnf`, RFC 8705) is valid only with it; other bindings are rejected.
- `typ` of the header is one of `token_types`, so that other tokens of the provider are not accepted (RFC 8725, 3.11).
- A verified token is cached by its SHA-256 until it expires or its key leaves the key set, so that its signature is
  checked once.

    issuer = Issuer(settings, teams)
    issuer.principal(token, peer, now=time.time())      # or TokenRefused("expired")
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from jwt.exceptions import PyJWTError

from ..settings import IdentityProviderSettings, TeamSettings
from ..settings.access import ABSENT
from .certificate import Peer
from .jwks import IssuerKey, JwksSource
from .principal import Method, Principal, make_principal

MAX_TOKEN_BYTES = 16 << 10  # twice nginx's default limit of a header line (8 KB, ngx_http_core_module, 2026-11)
_MAX_GROUPS = 512
_MAX_TEXT = 256
_REQUIRED = ("iss", "aud", "sub", "iat", "exp")
_OTHER_TOKENS = frozenset({"ID", "Refresh", "Offline", "Logout"})
"""Claim `typ` of Keycloak's tokens that give no access (TokenUtil.java of Keycloak 26, read 2026-11)."""

# Reasons in fixed words: the messages of PyJWT may quote the token.
_REASONS = {
    jwt.ExpiredSignatureError: "expired",
    jwt.ImmatureSignatureError: "not-yet-valid",
    jwt.InvalidAudienceError: "audience",
    jwt.InvalidIssuerError: "issuer",
    jwt.InvalidSignatureError: "signature",
    jwt.MissingRequiredClaimError: "claim-missing",
}


class TokenRefused(Exception):
    """The token is rejected. The text is the reason, a fixed word."""


class UnknownKey(TokenRefused):
    """The signing key is unknown; the issuer may have a new one."""


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """Content of a verified token."""

    principal: Principal
    expires_at: float
    """Seconds since 1970, leeway included."""
    thumbprint: str | None
    """Thumbprint of the certificate it is bound to."""
    source: JwksSource
    key: IssuerKey
    """Key that verified it."""
    algorithm: str

    def is_valid(self, peer: Peer | None, now: float) -> bool:
        """Return whether it still holds and the client shows the certificate it is bound to."""
        return self.holds(now) and (
            self.thumbprint is None or (peer is not None and peer.thumbprint == self.thumbprint)
        )

    def holds(self, now: float) -> bool:
        """Return whether it has not expired and its key is still in the issuer's key set."""
        current = self.source.keys.find(self.key.kid, self.algorithm)
        return now < self.expires_at and current is not None and current.fingerprint == self.key.fingerprint


class Issuer:
    """One identity provider.

    Args:
        teams: teams of the settings.
    """

    def __init__(self, settings: IdentityProviderSettings, teams: Sequence[TeamSettings]) -> None:
        self.settings = settings
        self.source = JwksSource(settings)
        self._teams = {team.name: team for team in teams}
        self._types = frozenset(_media_type(each) for each in settings.token_types)
        self._options: Any = {
            "require": [*_REQUIRED, *settings.required_claims],
            "strict_aud": False,  # RFC 7519, 4.1.3: `aud` may be a list with other audiences
            "enforce_minimum_key_length": True,
        }

    def verify(self, token: str) -> VerifiedToken:
        """Verify signature and claims, and return the principal. `is_valid` checks the binding.

        Raises:
            TokenRefused: with the reason.
        """
        settings = self.settings
        try:
            header = jwt.get_unverified_header(token)
            algorithm, kid = header.get("alg"), header.get("kid")
            if algorithm not in settings.algorithms:
                raise TokenRefused("algorithm")
            if _media_type(header.get("typ", ABSENT)) not in self._types:
                raise TokenRefused("type")
            key = self.source.keys.find(kid, algorithm)
            if key is None:
                raise UnknownKey("unknown-key")
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],  # allowed by the settings and by the key's kind, both checked above
                audience=settings.audience,
                issuer=settings.issuer,
                leeway=settings.leeway_s,
                options=self._options,
            )
        except PyJWTError as error:
            raise TokenRefused(_REASONS.get(type(error), "malformed")) from None
        return self._read(token, claims, key, algorithm)

    def _read(self, token: str, claims: Mapping[str, Any], key: IssuerKey, algorithm: str) -> VerifiedToken:
        settings, subject, expires_at, issued_at = self.settings, claims["sub"], claims["exp"], claims["iat"]
        if not isinstance(subject, str) or not 0 < len(subject) <= _MAX_TEXT or not subject.isprintable():
            raise TokenRefused("subject")
        if not isinstance(expires_at, int | float) or expires_at - issued_at > settings.max_lifetime_s:
            raise TokenRefused("lifetime")
        if claims.get("typ") in _OTHER_TOKENS:
            raise TokenRefused("type")
        groups = _groups(claims, settings.groups_claim)
        grant = next((grant for grant in settings.grants if grant.group in groups), None)
        if grant is None:
            raise TokenRefused("no-group")
        principal = make_principal(
            f"{settings.name}:{subject}",
            tenant=grant.tenant,
            method=Method.TOKEN,
            key_id=hashlib.sha256(token.encode()).hexdigest()[:12],
            rights=grant,
            team=self._teams[grant.team] if grant.team else None,
            groups=groups,
            is_admin=grant.is_admin,
            is_monitor=grant.is_monitor,
            admin_tenants=grant.admin_tenants,
        )
        until = float(expires_at) + settings.leeway_s
        return VerifiedToken(principal, until, _thumbprint(claims), self.source, key, algorithm)


def issuer_of(token: str) -> str | None:
    """Return the unverified `iss` of a token, to select its issuer."""
    try:
        claimed = jwt.decode(token, options={"verify_signature": False}).get("iss")
    except (PyJWTError, RecursionError):  # nested too deeply for the JSON parser
        return None
    return claimed if isinstance(claimed, str) else None


def _media_type(typ: object) -> str:
    """Return a `typ` for comparison: in lower case, without `application/` (RFC 7515, 4.1.9)."""
    return typ.lower().removeprefix("application/") if isinstance(typ, str) else ""


def _groups(claims: Mapping[str, Any], path: str) -> frozenset[str]:
    found: Any = claims.get(path)
    if found is None:
        found = claims
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        found = [found]
    if not isinstance(found, list):
        return frozenset()
    if len(found) > _MAX_GROUPS or not all(isinstance(each, str) and len(each) <= _MAX_TEXT for each in found):
        raise TokenRefused("groups")  # omitting some groups could drop the one that denies access
    return frozenset(found)


def _thumbprint(claims: Mapping[str, Any]) -> str | None:
    """Return the thumbprint in `cnf` (RFC 8705, 3.1). Other bindings (`jkt` of RFC 9449) are not supported."""
    if (bound := claims.get("cnf")) is None:
        return None
    thumbprint = bound.get("x5t#S256") if isinstance(bound, dict) and len(bound) == 1 else None
    if not isinstance(thumbprint, str):
        raise TokenRefused("bound-otherwise")
    return thumbprint
