"""Key-encryption keys (KEKs), which wrap the vault's keys. They are stored outside the database.

The first KEK of the settings wraps, all of them unwrap. The id of a KEK reveals nothing about the key.

    kek = LocalKek(bytes.fromhex("..."))
    kek.unwrap(kek.wrap(key, b"wrap"), b"wrap") == key
"""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .errors import VaultFailed
from .sealing import NONCE_BYTES


class Kek(Protocol):
    """One key-encryption key."""

    id: str
    """32 hex digits."""

    def wrap(self, key: bytes, context: bytes) -> bytes:
        """Wrap a key of the vault.

        Args:
            context: purpose of the key; needed to unwrap it.

        Raises:
            VaultFailed: the hardware token is unavailable.
        """

    def unwrap(self, wrapped: bytes, context: bytes) -> bytes:
        """Unwrap a key.

        Raises:
            VaultFailed: the wrapped key was altered, or has another KEK or purpose, or the hardware token is
                unavailable.
        """


class LocalKek:
    """A KEK in this process's memory: AES-256-GCM with random nonces, for a handful of keys a day.

    Args:
        key: 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self.id = hmac.digest(key, b"sovctl vault kek id v1", hashlib.sha256)[:16].hex()
        self._cipher = AESGCM(key)

    def wrap(self, key: bytes, context: bytes) -> bytes:
        """See `Kek.wrap`."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, key, context)

    def unwrap(self, wrapped: bytes, context: bytes) -> bytes:
        """See `Kek.unwrap`."""
        try:
            return self._cipher.decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], context)
        except (InvalidTag, ValueError):
            raise VaultFailed("a wrapped key was altered, or is wrapped under another KEK") from None
