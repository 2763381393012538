"""Signed header with the principal's permissions for RAG and tools, which an upstream verifies offline.

`x-sovctl-principal` is a compact JWS (RFC 7515) with EdDSA (RFC 8037). It contains principal, tenant, team, groups,
request id and audience, and is valid for a minute. Only pools with `send_principal` receive it, and no
cloud does. The public keys are a JWK set, on the admin surface and from `sovctl gateway keys jwks`.

    signer = PrincipalSigner(keys, site="lab")
    headers[HEADER] = signer.sign(principal, audience="rag", request_id=request_id, now=time.time())
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from sovctl.compliance.signing import SigningKey, VerifyKey, load_or_create

from .principal import Principal

HEADER = "x-sovctl-principal"
VALID_S = 60
"""Seconds. Delivery to an upstream takes milliseconds; a minute covers clock differences and a queue."""


class PrincipalSigner:
    """Signs for one gateway.

    Args:
        keys: the first signs; the others are only published, during a rotation.
        site: the issuer's name is `sovctl.SITE/gateway`.
    """

    def __init__(self, keys: Sequence[SigningKey], *, site: str) -> None:
        self._key = keys[0]
        self._issuer = f"sovctl.{site}/gateway"
        header = {"alg": "EdDSA", "kid": key_id(self._key.public), "typ": "JWT"}
        self._head = _base64url(orjson.dumps(header)) + b"."
        self.jwks: dict[str, Any] = {"keys": [jwk(key.public) for key in keys]}
        """JWK set with which upstreams verify the header."""

    @classmethod
    def open(cls, paths: Sequence[Path], *, site: str) -> PrincipalSigner:
        """Load the keys of these files; create absent files.

        Raises:
            InputError: a file is not such a key, or other users can read it.
        """
        return cls([load_or_create(path) for path in paths], site=site)

    def sign(self, principal: Principal, *, audience: str, request_id: str, now: float) -> str:
        """Return the value of the header.

        Args:
            audience: name of the upstream; other upstreams must reject it.
            now: seconds since 1970.
        """
        issued_at = int(now)
        claims = {
            "iss": self._issuer,
            "aud": audience,
            "sub": principal.name,
            "tenant": principal.tenant,
            "team": principal.team,
            "groups": principal.groups,
            "may_restore": principal.may_restore,
            "jti": request_id,
            "iat": issued_at,
            "exp": issued_at + VALID_S,
        }
        signed = self._head + _base64url(orjson.dumps(claims))
        return (signed + b"." + _base64url(self._key.sign(signed))).decode()


def jwk(key: VerifyKey) -> dict[str, str]:
    """Return a public key as JWK (RFC 8037, 2)."""
    return {**_required(key), "kid": key_id(key), "use": "sig", "alg": "EdDSA"}


def key_id(key: VerifyKey) -> str:
    """Return the key's thumbprint (RFC 7638, 3)."""
    return _base64url(hashlib.sha256(orjson.dumps(_required(key), option=orjson.OPT_SORT_KEYS)).digest()).decode()


def _required(key: VerifyKey) -> dict[str, str]:
    return {"crv": "Ed25519", "kty": "OKP", "x": _base64url(key.raw).decode()}


def _base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
