"""Verifies the gateway's JWS in `x-sovctl-principal` (decision 0007), and returns the caller of a search.

- EdDSA only; issuer, audience, expiry and key id must match. PyJWT's messages may quote the token, so errors are fixed
  words.
- The key set is read again when its file changes. A file that became invalid leaves no key valid.
"""

from __future__ import annotations

from typing import Any

import jwt

from ..access.assertion import VALID_S
from ..access.jwks import BadJwks, KeySet, parse_jwks
from ..telemetry import log
from .settings import PrincipalSettings
from .values import Caller

_ALGORITHM = "EdDSA"
_LEEWAY_S = 5.0  # difference of two clocks of a site, which synchronizes them
_MAX_BYTES = 32 << 10
_MAX_GROUPS = 512  # as access/oidc.py
_MAX_TEXT = 256
_REQUIRED = ["iss", "aud", "sub", "iat", "exp", "jti"]


class PrincipalRefused(Exception):
    """The header is absent or invalid. The text is the reason, a fixed word."""


class PrincipalVerifier:
    """Verifies principals of one gateway site."""

    def __init__(self, settings: PrincipalSettings) -> None:
        self._settings = settings
        self._seen: tuple[int, int, int] | None = None
        self._keys = KeySet()

    def caller(self, token: str | None) -> Caller:
        """Return the caller.

        Raises:
            PrincipalRefused: absent, expired, of another issuer or audience, or not signed by the gateway.
        """
        if not token:
            raise PrincipalRefused("absent")
        if len(token) > _MAX_BYTES:
            raise PrincipalRefused("too-large")
        try:
            header = jwt.get_unverified_header(token)
            key = self._current().find(str(header.get("kid")), _ALGORITHM)
            if key is None or header.get("alg") != _ALGORITHM:
                raise PrincipalRefused("unknown-key")
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[_ALGORITHM],
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=_LEEWAY_S,
                options={"require": _REQUIRED},
            )
        except jwt.ExpiredSignatureError:
            raise PrincipalRefused("expired") from None
        except (jwt.PyJWTError, ValueError):
            raise PrincipalRefused("invalid") from None
        return _caller(claims)

    def _current(self) -> KeySet:
        """Return the keys of the file."""
        try:
            found = self._settings.jwks_file.stat()
            identity = (found.st_mtime_ns, found.st_size, found.st_ino)
            if identity != self._seen:
                self._keys = parse_jwks(self._settings.jwks_file.read_bytes())
                self._seen = identity
        except (OSError, BadJwks) as error:
            log.event("gateway keys not loaded", level=40, reason=type(error).__name__)
            self._keys, self._seen = KeySet(), None
        return self._keys


def _caller(claims: dict[str, Any]) -> Caller:
    subject, tenant, groups = claims["sub"], claims.get("tenant"), claims.get("groups")
    texts = [subject, tenant, *(groups if isinstance(groups, list) else [None])]
    if not all(isinstance(text, str) and 0 < len(text) <= _MAX_TEXT and "\0" not in text for text in texts):
        raise PrincipalRefused("invalid-claims")
    if claims["exp"] - claims["iat"] > VALID_S or len(groups or ()) > _MAX_GROUPS:
        raise PrincipalRefused("invalid-claims")
    return Caller(subject, str(tenant), frozenset(groups or ()))
