"""One byte string for one value: RFC 8785 canonical JSON and its SHA-256.

Everything that is bound by a digest (plans, facts, records, reports) goes through here, so that two runs over the
same state give the same bytes.
"""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785


def canonical_json(value: Any) -> bytes:
    """The RFC 8785 form of plain values (dict, list, str, int, float, bool, None)."""
    encoded: bytes = rfc8785.dumps(value)
    return encoded


def digest(value: Any) -> str:
    """SHA-256 over the canonical JSON of `value`, as 64 lower-case hex digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def sha256_hex(data: bytes | str) -> str:
    """SHA-256 of bytes (text as UTF-8), as 64 lower-case hex digits."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()
