"""Memory of findings, so that the earlier turns of a conversation, which every request repeats, are scanned once.

A record holds no text and no value. Its place is a keyed digest of tenant and text, and its content is encrypted under
a key that only the same text of the same tenant gives: the digest and the key are two parts of one keyed BLAKE2b hash
(RFC 7693), whose key is random for each process. So a record can be found and opened only by a request that already
contains the text, and never by another tenant.

The memory is valid for one detector. It forgets a record

- when it has not been used for `max_age_s`, or when `max_bytes` are reached, the least recently used first;
- when `clear` is called, which follows every erasure in the vault.

    memory = FindingsMemory(max_bytes=64 << 20, max_age_s=86_400)
    mine = memory.of("retail")
    mine.put(text, findings)
    mine.get(text)              # equal findings; None if they are unknown
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from threading import Lock
from typing import Any

import orjson
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ..domain.entities import EntityType
from .findings.finding import Finding

_DIGEST_BYTES, _KEY_BYTES = 16, 32  # AES-256
_NONCE_BYTES = 12  # NIST SP 800-38D 5.2.1.1
_RECORD_BYTES = 400  # of a record and its place in the table, without its content; measured 2026-11, CPython 3.11
_MOST_TENANTS = 1_024  # whose hash states are kept; a lost one is computed again
_ENTITY_TYPES = {entity_type.value: entity_type for entity_type in EntityType}

_Record = tuple[bytes, bytes, str, float]
"""Digest, nonce and encrypted findings, languages (empty if unknown), time of the last use. A tuple of such values is
not tracked by the garbage collector."""


class FindingsMemory:
    """Findings of the texts of all tenants; `of` gives the part of one of them. May be used by several threads.

    Args:
        max_bytes: most memory; at least one record is kept.
        max_age_s: seconds after the last use.
        clock: monotonic seconds; an argument for tests.
    """

    def __init__(self, *, max_bytes: int, max_age_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._max_age_s = max_age_s
        self._clock = clock
        self._key = secrets.token_bytes(_KEY_BYTES)
        self._nonces = itertools.count()  # no nonce occurs twice in a process
        self._records: dict[int, _Record] = {}
        self._bytes = 0
        self._lock = Lock()
        self._hash_of = lru_cache(_MOST_TENANTS)(self._tenant_hash)

    def __len__(self) -> int:
        return len(self._records)

    @property
    def size_bytes(self) -> int:
        """Memory of all records."""
        return self._bytes

    def of(self, tenant: str) -> TenantFindings:
        """Return the findings in texts of this tenant."""
        return TenantFindings(self, tenant, self._hash_of(tenant))

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._records.clear()
            self._bytes = 0

    def purge(self) -> None:
        """Forget the records that are too old."""
        oldest_s = self._clock() - self._max_age_s
        with self._lock:
            while self._records and (first := next(iter(self._records.items())))[1][3] < oldest_s:
                self._drop(first[0])

    def _tenant_hash(self, tenant: str) -> Any:
        name = tenant.encode("utf-8", "surrogatepass")
        keyed = hashlib.blake2b(digest_size=_DIGEST_BYTES + _KEY_BYTES, key=self._key)
        keyed.update(len(name).to_bytes(4) + name)
        return keyed

    def _get(self, place: int) -> _Record | None:
        return self._records.get(place)

    def _use(self, place: int, record: _Record) -> None:
        """Move a record to the end, because it was used."""
        with self._lock:
            if self._records.pop(place, None) is not None:
                self._records[place] = (*record[:3], self._clock())

    def _put(self, place: int, digest: bytes, sealed: bytes, spoken: str) -> None:
        with self._lock:
            self._drop(place)
            self._records[place] = digest, sealed, spoken, self._clock()
            self._bytes += _RECORD_BYTES + len(sealed)
            while self._bytes > self._max_bytes and len(self._records) > 1:
                self._drop(next(iter(self._records)))

    def _drop(self, place: int) -> None:
        if (record := self._records.pop(place, None)) is not None:
            self._bytes -= _RECORD_BYTES + len(record[1])


class TenantFindings:
    """Findings in the texts of one tenant, for one request: it holds the digests of that request's texts."""

    __slots__ = ("_memory", "_secrets", "_state", "_tenant")

    def __init__(self, memory: FindingsMemory, tenant: str, state: Any) -> None:
        self._memory = memory
        self._tenant = tenant
        self._state = state
        self._secrets: dict[str, bytes] = {}

    def __contains__(self, text: str) -> bool:
        """Whether the findings of a text are known."""
        return self._record(text) is not None

    def get(self, text: str) -> tuple[list[Finding], frozenset[str] | None] | None:
        """Return the findings of a text, and its languages if they are known; None for an unknown text."""
        record = self._record(text)
        if record is None:
            return None
        self._memory._use(self._place(text), record)
        sealed = record[1]
        key = AESGCM(self._secret(text)[_DIGEST_BYTES:])
        found = [
            Finding(start, end, _ENTITY_TYPES[entity_type], score, value, rule)
            for start, end, entity_type, score, value, rule in orjson.loads(
                key.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None)
            )
        ]
        return found, _languages_of(record[2]) if record[2] else None

    def put(self, text: str, found: Iterable[Finding], spoken: frozenset[str] = frozenset()) -> None:
        """Remember the findings of a text, and its languages if they are known."""
        try:
            content = orjson.dumps([tuple(finding) for finding in found])
        except orjson.JSONEncodeError:
            return  # half a surrogate pair in a value
        secret, memory = self._secret(text), self._memory
        nonce = next(memory._nonces).to_bytes(_NONCE_BYTES)
        sealed = nonce + AESGCM(secret[_DIGEST_BYTES:]).encrypt(nonce, content, None)
        memory._put(self._place(text), secret[:_DIGEST_BYTES], sealed, " ".join(sorted(spoken)))

    def add_languages(self, text: str, spoken: frozenset[str]) -> None:
        """Remember the languages of a text whose findings are known."""
        if (record := self._record(text)) is not None:
            self._memory._put(self._place(text), record[0], record[1], " ".join(sorted(spoken)))

    def _record(self, text: str) -> _Record | None:
        # The place is a keyed hash as well, and says quickly that a text is unknown; the digest says that it is known.
        record = self._memory._get(self._place(text))
        return record if record is not None and record[0] == self._secret(text)[:_DIGEST_BYTES] else None

    def _place(self, text: str) -> int:
        return hash((self._tenant, text))

    def _secret(self, text: str) -> bytes:
        """Return the digest of a text, and the key of its record."""
        secret = self._secrets.get(text)
        if secret is None:
            keyed = self._state.copy()
            keyed.update(text.encode("utf-8", "surrogatepass"))
            secret = self._secrets[text] = keyed.digest()
        return secret


@lru_cache(256)
def _languages_of(spoken: str) -> frozenset[str]:
    """Return one set object for equal sets of languages."""
    return frozenset(spoken.split())
