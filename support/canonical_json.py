"""RFC 8785 canonical JSON and SHA-256 digests.

Plans, facts, records and reports are encoded with this module, so that equal values have equal bytes and digests.
"""

from __future__ import annotations

from typing import Any

import rfc8785

from .plain_json import Differs, plain_json, sha256_hex

__all__ = ["canonical_json", "digest", "sha256_hex"]


def canonical_json(value: Any) -> bytes:
    """Return the RFC 8785 encoding of plain values (dict, list, str, int, float, bool, None)."""
    try:
        return plain_json(value)
    except Differs:
        encoded: bytes = rfc8785.dumps(value)
        return encoded


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value`, 64 lower-case hex digits."""
    return sha256_hex(canonical_json(value))
