"""Finds a person's values without being able to read them: keyed digests of tenant and value.

Keyed BLAKE2b (RFC 7693, 2.9) of 128 bits under a key of its own: each new value needs one, and HMAC-SHA-256, which
names tenants, costs three times as much. Digests of one value are alike within a tenant, so that
`vault erase --subject-file` finds it in every conversation; two tenants' digests of it have nothing in common. Letters
and digits count, whatever stands between them and in whatever case: `DE89 3704 0044 ...` is `de8937040044...`.

    index = BlindIndex(key)
    index.subjects(index.tenant("retail"), ["DE89 3704 0044 0532 0130 00"])
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections.abc import Collection, Iterable

from .sealing import SUBJECT_BYTES

_MOST_TENANTS = 4096  # remembered
_NEITHER_LETTER_NOR_DIGIT = bytes(code for code in range(128) if not chr(code).isalnum())
_LOWER = bytes(range(256)).lower()


class BlindIndex:
    """Makes the digests of one vault.

    Args:
        key: 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._subjects = hashlib.blake2b(
            key=hmac.digest(key, b"sovctl vault subject v1", hashlib.sha256), digest_size=SUBJECT_BYTES
        )
        self._tenants = hmac.digest(key, b"sovctl vault tenant v1", hashlib.sha256)
        self._known: dict[str, bytes] = {}

    def tenant(self, name: str) -> bytes:
        """Digest of a tenant's name."""
        digest = self._known.get(name)
        if digest is None:
            if len(self._known) >= _MOST_TENANTS:
                self._known.clear()
            digest = self._known[name] = hmac.digest(self._tenants, name.encode(), hashlib.sha256)[:SUBJECT_BYTES]
        return digest

    def subjects(self, tenant: bytes, values: Iterable[str]) -> set[bytes]:
        """Digests of values of one tenant, one for all spellings that read alike.

        Args:
            tenant: its digest.
        """
        return {self._digest(tenant + value) for value in set(map(canonical, values))}

    def scope(self, tenant: bytes, subjects: Collection[bytes]) -> bytes:
        """Digest of all these together."""
        return self._digest(b"".join((tenant, b"scope", *sorted(subjects))))

    def _digest(self, data: bytes) -> bytes:
        digest = self._subjects.copy()
        digest.update(data)
        return digest.digest()


def canonical(value: str) -> bytes:
    """What spellings of one value have in common: letters with their marks and digits, in one case and composition."""
    if value.isascii():
        kept = value.encode().translate(_LOWER, _NEITHER_LETTER_NOR_DIGIT)
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", value).casefold())
        letters = "".join(each for each in folded if unicodedata.category(each)[0] in "LMN")
        kept = unicodedata.normalize("NFKC", letters).encode()  # what stood apart may have come together
    return kept or value.encode()
