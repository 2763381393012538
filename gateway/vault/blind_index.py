"""Finds a person's values without being able to read them: keyed digests of tenant, kind and normalised value.

HMAC-SHA-256 under a key of its own, cut to 128 bits. Digests of one value are alike within a tenant, so that
`vault erase --subject-file` finds it in every conversation; two tenants' digests of it have nothing in common.

    index = BlindIndex(key)
    index.subject(index.tenant("retail"), "IBAN", "DE89370400440532013000")
"""

from __future__ import annotations

import hashlib
import hmac

from sovctl.gateway.vault.sealing import SUBJECT_BYTES

_MOST_TENANTS = 4096  # remembered


class BlindIndex:
    """Makes the digests of one vault.

    Args:
        key: 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._subjects = hmac.new(key, b"sovctl vault subject v1", hashlib.sha256)
        self._tenants = hmac.new(key, b"sovctl vault tenant v1", hashlib.sha256)
        self._known: dict[str, bytes] = {}

    def tenant(self, name: str) -> bytes:
        """Digest of a tenant's name."""
        digest = self._known.get(name)
        if digest is None:
            if len(self._known) >= _MOST_TENANTS:
                self._known.clear()
            digest = self._known[name] = _digest(self._tenants, name.encode())
        return digest

    def subject(self, tenant: bytes, kind: str, value: str) -> bytes:
        """Digest of a normalised value of one tenant.

        Args:
            tenant: its digest.
        """
        return _digest(self._subjects, tenant + f"{kind}\0{value}".encode())


def _digest(keyed: hmac.HMAC, data: bytes) -> bytes:
    mac = keyed.copy()  # cheaper than keying anew
    mac.update(data)
    return mac.digest()[:SUBJECT_BYTES]
