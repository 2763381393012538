"""Public key of the private key that sovctl uses on nodes."""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

_PUBLIC = (serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)


def public_key_of(private_key: bytes) -> str:
    """Return the public key of a private one as `type key`; empty for an encrypted, an unknown or no key."""
    for load in (serialization.load_ssh_private_key, serialization.load_pem_private_key):
        try:
            return load(private_key, None).public_key().public_bytes(*_PUBLIC).decode()
        except (ValueError, TypeError, UnsupportedAlgorithm):
            continue
    return ""
