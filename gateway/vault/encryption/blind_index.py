"""Blind index: finds a person's values by keyed digests of tenant and value, without decrypting them.

The digest is keyed BLAKE2b (RFC 7693, 2.9) of 128 bits under its own key. Each new value needs one, and HMAC-SHA-256,
which
is used for tenants, costs three times as much. Equal values of one tenant have equal digests, so that
`vault erase --subject-file` finds a value in every conversation; digests of different tenants are unrelated. Only
letters and digits count, without case and punctuation: `DE89 3704 0044 ...` equals `de8937040044...`.

    index = BlindIndex(key)
    index.subjects(index.tenant("retail"), ["DE89 3704 0044 0532 0130 00"])
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections.abc import Collection, Iterable

from .sealing import SUBJECT_BYTES

_MAX_TENANTS = 4096  # size of the cache
_NEITHER_LETTER_NOR_DIGIT = bytes(code for code in range(128) if not chr(code).isalnum())
_LOWER = bytes(range(256)).lower()


class BlindIndex:
    """Computes the digests of one vault.

    Args:
        key: 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._subjects = hashlib.blake2b(
            key=hmac.digest(key, b"sovctl vault subject v1", hashlib.sha256), digest_size=SUBJECT_BYTES
        )
        self._tenants = hmac.digest(key, b"sovctl vault tenant v1", hashlib.sha256)
        self._locations = hmac.digest(key, b"sovctl vault location v1", hashlib.sha256)
        self._cache: dict[str, bytes] = {}

    def tenant(self, name: str) -> bytes:
        """Return the digest of a tenant's name."""
        digest = self._cache.get(name)
        if digest is None:
            if len(self._cache) >= _MAX_TENANTS:
                self._cache.clear()
            digest = self._cache[name] = hmac.digest(self._tenants, name.encode(), hashlib.sha256)[:SUBJECT_BYTES]
        return digest

    def location(self, purpose: str, name: str) -> bytes:
        """Return the digest of a name, 32 bytes; digests of different purposes are unrelated."""
        return hmac.digest(self._locations, f"{purpose}\0{name}".encode(), hashlib.sha256)

    def subjects(self, tenant: bytes, values: Iterable[str]) -> set[bytes]:
        """Return the digests of values of one tenant; spellings with the same canonical form have one digest.

        Args:
            tenant: its digest.
        """
        return {self._digest(tenant + value) for value in set(map(canonical, values))}

    def scope(self, tenant: bytes, subjects: Collection[bytes]) -> bytes:
        """Return one digest of all these subjects."""
        return self._digest(b"".join((tenant, b"scope", *sorted(subjects))))

    def _digest(self, data: bytes) -> bytes:
        digest = self._subjects.copy()
        digest.update(data)
        return digest.digest()


def canonical(value: str) -> bytes:
    """Return the canonical form of a value: letters with their marks and digits, in one case and composition."""
    if value.isascii():
        kept = value.encode().translate(_LOWER, _NEITHER_LETTER_NOR_DIGIT)
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", value).casefold())
        letters = "".join(each for each in folded if unicodedata.category(each)[0] in "LMN")
        kept = unicodedata.normalize("NFKC", letters).encode()  # removing characters may have created new compositions
    return kept or value.encode()
