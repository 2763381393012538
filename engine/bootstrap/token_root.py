"""ECDSA P-256 key of a root certificate in a PKCS#11 token, as a private key for the library cryptography.

The library passes the message, and the token signs its SHA-256 with CKM_ECDSA. The private key stays in the token.
"""

from __future__ import annotations

import hashlib
from typing import Any, NoReturn

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from sovctl.compliance.pkcs11_signer import TokenKey
from sovctl.support.errors import InputError

_POINT_BYTES = 65  # SEC 1, 2.3.3: 0x04 and both coordinates of P-256
_DER_PREFIX = b"\x04\x41"  # DER OCTET STRING of 65 bytes (PKCS#11 3.0, 2.3.5: CKA_EC_POINT)


class TokenRoot(ec.EllipticCurvePrivateKey):
    """A P-256 key in a token. It signs with SHA-256, and has no bytes outside of the token."""

    def __init__(self, token: TokenKey) -> None:
        self._token = token
        self._public = _public_key(token)

    def sign(self, data: Any, signature_algorithm: ec.EllipticCurveSignatureAlgorithm) -> bytes:
        """Return the ECDSA signature of `data` in DER."""
        if not isinstance(signature_algorithm.algorithm, hashes.SHA256):
            raise InputError("a root key in a token signs with SHA-256 only")
        signature = self._token.use(lambda session, label: _signed(session, label, bytes(data)))
        half = len(signature) // 2
        return encode_dss_signature(int.from_bytes(signature[:half]), int.from_bytes(signature[half:]))

    def public_key(self) -> ec.EllipticCurvePublicKey:
        """Return the public key."""
        return self._public

    @property
    def curve(self) -> ec.EllipticCurve:
        """P-256."""
        return ec.SECP256R1()

    @property
    def key_size(self) -> int:
        """256 bits."""
        return self.curve.key_size

    def exchange(self, algorithm: ec.ECDH, peer_public_key: ec.EllipticCurvePublicKey) -> NoReturn:
        """Raise: the key of a root only signs."""
        raise NotImplementedError

    def private_numbers(self) -> NoReturn:
        """Raise: the key does not leave the token."""
        raise NotImplementedError

    def private_bytes(self, encoding: Any, format: Any, encryption_algorithm: Any) -> NoReturn:  # noqa: A002 - of the library
        """Raise: the key does not leave the token."""
        raise NotImplementedError

    def __copy__(self) -> TokenRoot:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> TokenRoot:
        return self


def _public_key(token: TokenKey) -> ec.EllipticCurvePublicKey:
    point = token.use(_point_of)
    if len(point) == _POINT_BYTES + len(_DER_PREFIX) and point.startswith(_DER_PREFIX):
        point = point[len(_DER_PREFIX) :]
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        raise InputError(f"expected a P-256 key {token.label}, got another", where=f"token {token.token}") from None


def _point_of(session: Any, label: str) -> bytes:
    from pkcs11 import Attribute, ObjectClass

    return bytes(session.get_key(ObjectClass.PUBLIC_KEY, label=label)[Attribute.EC_POINT])


def _signed(session: Any, label: str, message: bytes) -> bytes:
    from pkcs11 import Mechanism, ObjectClass

    key = session.get_key(ObjectClass.PRIVATE_KEY, label=label)
    return bytes(key.sign(hashlib.sha256(message).digest(), mechanism=Mechanism.ECDSA))
