"""Memory of findings, so that the earlier turns of a conversation, which every request repeats, are scanned once.

A record holds no text and no value. Its place is a keyed digest of tenant and text, and its content is encrypted under
a key that only the same text of the same tenant gives: the digest and the key are two parts of one keyed BLAKE2b hash
(RFC 7693), whose key is random for each process. So a record can be found and opened only by a request that already
contains the text, of the same tenant.

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
from collections.abc import Callable, Iterable, Sequence
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
_SPAN_BYTES = 300  # of a span with its token
_COARSE_S = 2.0  # the order of use is exact to this time, because moving a record takes as long as finding it
_MOST_TENANTS = 1_024  # whose hash states are kept; a lost one is computed again
_ENTITY_TYPES = {entity_type.value: entity_type for entity_type in EntityType}

_Record = tuple[bytes, Any, str, float, int]
"""Digest of the text, content (encrypted, or spans), languages (empty if unknown), time of the last use, and bytes. A
tuple of such values is not tracked by the garbage collector."""


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
        self._nonces = itertools.count(1)  # no nonce occurs twice in a process
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

    def of(self, tenant: str, conversation: str = "") -> TenantFindings:
        """Return the part of the memory for a request of this tenant.

        Args:
            conversation: key of its conversation.
        """
        return TenantFindings(self, tenant, conversation, self._hash_of(tenant))

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

    def _use(self, place: int, record: _Record, now_s: float) -> None:
        """Move a record to the end, because it was used; not if it is near to the end."""
        if now_s - record[3] < _COARSE_S:
            return
        with self._lock:
            if self._records.pop(place, None) is not None:
                self._records[place] = (*record[:3], now_s, record[4])

    def _put(self, place: int, digest: bytes, content: Any, spoken: str, content_bytes: int) -> None:
        with self._lock:
            self._drop(place)
            self._records[place] = digest, content, spoken, self._clock(), _RECORD_BYTES + content_bytes
            self._bytes += _RECORD_BYTES + content_bytes
            while self._bytes > self._max_bytes and len(self._records) > 1:
                self._drop(next(iter(self._records)))

    def _drop(self, place: int) -> None:
        if (record := self._records.pop(place, None)) is not None:
            self._bytes -= record[4]


class TenantFindings:
    """The part of the memory for one request: it holds the digests of that request's texts.

    Findings of a text hold for every conversation of the tenant. Records of another `kind` hold for one conversation.
    """

    __slots__ = ("_conversation", "_memory", "_now_s", "_secrets", "_state", "_tenant")

    def __init__(self, memory: FindingsMemory, tenant: str, conversation: str, state: Any) -> None:
        self._memory = memory
        self._tenant = tenant
        self._conversation = conversation
        self._state = state
        self._now_s = memory._clock()
        self._secrets: dict[str, bytes] = {}

    def __contains__(self, text: str) -> bool:
        """Whether the findings of a text are known."""
        return self._record(hash((self._tenant, text)), text) is not None

    def get(self, text: str) -> tuple[list[Finding], frozenset[str] | None] | None:
        """Return the findings of a text, and its languages if they are known; None for an unknown text."""
        place = hash((self._tenant, text))
        record = self._record(place, text)
        if record is None:
            return None
        self._memory._use(place, record, self._now_s)
        found = findings_of(orjson.loads(self._opened(record, text, b"")))
        return found, _languages_of(record[2]) if record[2] else None

    def put(self, text: str, found: Iterable[Finding]) -> None:
        """Remember the findings of a text."""
        self._seal(hash((self._tenant, text)), text, b"", [tuple(finding) for finding in found])

    def add_languages(self, text: str, spoken: frozenset[str]) -> None:
        """Remember the languages of a text whose findings are known."""
        place = hash((self._tenant, text))
        if (record := self._record(place, text)) is not None:
            content = record[1]
            self._memory._put(place, record[0], content, " ".join(sorted(spoken)), len(content))

    def read(self, kind: str, text: str) -> tuple[int, Any] | None:
        """Return the number of a record of this conversation, and its content; None if it is unknown."""
        place = self._place(kind, text)
        record = self._record(place, text)
        if record is None:
            return None
        self._memory._use(place, record, self._now_s)
        content = orjson.loads(self._opened(record, text, kind.encode()))
        return int.from_bytes(record[1][:_NONCE_BYTES]), content

    def write(self, kind: str, text: str, content: Any) -> int:
        """Remember plain values for a text, in this conversation, encrypted.

        Returns:
            The number of the record, at least 1; 0 if it was not remembered.
        """
        return self._seal(self._place(kind, text), text, kind.encode(), content)

    def spans(self, kind: tuple[Any, ...], text: str) -> Any:
        """Return what `put_spans` has remembered of a text; None if it is unknown."""
        place = self._place(kind, text)
        record = self._record(place, text)
        if record is None:
            return None
        self._memory._use(place, record, self._now_s)
        return record[1]

    def put_spans(self, kind: tuple[Any, ...], text: str, spans: tuple[Any, ...]) -> None:
        """Remember spans of a text and their tokens, in this conversation; nothing of it may be text."""
        content_bytes = _SPAN_BYTES * len(spans)
        self._memory._put(self._place(kind, text), self._secret(text)[:_DIGEST_BYTES], spans, "", content_bytes)

    def _record(self, place: int, text: str) -> _Record | None:
        # The place is a keyed hash as well, and says quickly that a text is unknown; the digest says that it is known.
        record = self._memory._get(place)
        return record if record is not None and record[0] == self._secret(text)[:_DIGEST_BYTES] else None

    def _opened(self, record: _Record, text: str, kind: bytes) -> bytes:
        sealed = record[1]
        return AESGCM(self._secret(text)[_DIGEST_BYTES:]).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], kind)

    def _seal(self, place: int, text: str, kind: bytes, content: Any) -> int:
        try:
            plain = orjson.dumps(content)
        except orjson.JSONEncodeError:
            return 0  # half a surrogate pair in a value
        secret, memory = self._secret(text), self._memory
        number = next(memory._nonces)
        nonce = number.to_bytes(_NONCE_BYTES)
        sealed = nonce + AESGCM(secret[_DIGEST_BYTES:]).encrypt(nonce, plain, kind)
        memory._put(place, secret[:_DIGEST_BYTES], sealed, "", len(sealed))
        return number

    def _place(self, kind: Any, text: str) -> int:
        return hash((self._tenant, self._conversation, kind, text))

    def _secret(self, text: str) -> bytes:
        """Return the digest of a text, and the key of its record."""
        secret = self._secrets.get(text)
        if secret is None:
            keyed = self._state.copy()
            keyed.update(text.encode("utf-8", "surrogatepass"))
            secret = self._secrets[text] = keyed.digest()
        return secret


def findings_of(values: Iterable[Sequence[Any]]) -> list[Finding]:
    """Return findings from plain values."""
    types = _ENTITY_TYPES
    return [Finding(start, end, types[name], score, value, rule) for start, end, name, score, value, rule in values]


@lru_cache(256)
def _languages_of(spoken: str) -> frozenset[str]:
    """Return one set object for equal sets of languages."""
    return frozenset(spoken.split())
