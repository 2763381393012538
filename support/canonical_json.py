"""One byte string for one value: RFC 8785 canonical JSON and its SHA-256, and base64 that has one spelling only.

Everything that is bound by a digest (plans, facts, records, reports) goes through here, so that two runs over the
same state give the same bytes.
"""

from __future__ import annotations

import base64
import binascii
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


def decode_base64(text: str) -> bytes:
    """The bytes of standard base64 in its one canonical spelling.

    Python's decoder ignores the unused bits of the last digit, so that several texts mean the same bytes; in a signed
    text that would let a changed character go unseen.

    Raises:
        ValueError: another alphabet, wrong padding, or unused bits that are not zero.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("expected base64, got something else") from None
    if base64.b64encode(data).decode() != text:
        raise ValueError("expected base64 in its canonical spelling, got another")
    return data
