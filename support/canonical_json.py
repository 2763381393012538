"""RFC 8785 canonical JSON, SHA-256 digests, and canonical base64.

Plans, facts, records and reports are encoded with this module, so that equal values have equal bytes and digests.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any

import rfc8785


def canonical_json(value: Any) -> bytes:
    """Return the RFC 8785 encoding of plain values (dict, list, str, int, float, bool, None)."""
    encoded: bytes = rfc8785.dumps(value)
    return encoded


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value`, 64 lower-case hex digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def sha256_hex(data: bytes | str) -> str:
    """Return the SHA-256 of bytes, or of text in UTF-8, 64 lower-case hex digits."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def decode_base64(text: str) -> bytes:
    """Decode canonical standard base64.

    Python's decoder ignores the unused bits of the last digit, so several texts decode to the same bytes. In a signed
    text, a changed character would then not be detected.

    Raises:
        ValueError: another alphabet, wrong padding, or unused bits other than zero.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("invalid base64") from None
    if base64.b64encode(data).decode() != text:
        raise ValueError("base64 is not in canonical form")
    return data
