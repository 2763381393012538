"""Public key of the gateway's principal tokens as a JWK set (RFC 7517, 5), for a service that verifies them offline."""

from __future__ import annotations

import base64
import hashlib
import json

from sovctl.compliance.signing import VerifyKey


def jwks_text(key: VerifyKey) -> str:
    """Return the JWK set of an Ed25519 key (RFC 8037, 2); its key id is the thumbprint of RFC 7638, 3."""
    required = {"crv": "Ed25519", "kty": "OKP", "x": _base64url(key.raw)}
    thumbprint = hashlib.sha256(json.dumps(required, sort_keys=True, separators=(",", ":")).encode()).digest()
    return json.dumps({"keys": [{**required, "kid": _base64url(thumbprint), "use": "sig", "alg": "EdDSA"}]}) + "\n"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
