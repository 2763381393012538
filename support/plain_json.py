"""RFC 8785 canonical JSON of the usual values with the standard library alone, SHA-256 digests, and canonical base64.

The verifier `sovctl-verify.pyz` contains this module. `canonical_json` encodes all values, with a library.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any

# The encoder of the standard library is written in C: a plan takes less than half the time of rfc8785.
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)
_MAX_INTEGER = 2**53 - 1  # RFC 8785, 3.2.2.3: integers that a double represents exactly


def plain_json(value: Any) -> bytes:
    """Return the RFC 8785 encoding of dict, list, str, int, bool, None, and most floats.

    Raises:
        Differs: a key is not ASCII, or a value requires the library.
    """
    try:
        return _ENCODER.encode(_as_in_rfc8785(value)).encode()
    except UnicodeEncodeError:
        raise Differs from None


class Differs(ValueError):
    """RFC 8785 and the encoder of the standard library encode a value differently, or neither can."""


def _as_in_rfc8785(value: Any) -> Any:
    """Return an equal value that `_ENCODER` encodes as RFC 8785 does.

    The two differ in the order of keys outside ASCII, and in numbers: `1.0` and `1`, `1e-05` and `0.00001`.

    Raises:
        Differs: no such value exists, or RFC 8785 cannot encode it.
    """
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if kind is dict:
        if not all(type(key) is str and key.isascii() for key in value):
            raise Differs
        return {key: _as_in_rfc8785(each) for key, each in value.items()}
    if kind is list or kind is tuple:
        return [_as_in_rfc8785(each) for each in value]
    if kind is int and -_MAX_INTEGER <= value <= _MAX_INTEGER:
        return value
    if kind is float and abs(value) < 1e15 and (value.is_integer() or abs(value) >= 1e-4):
        return int(value) if value.is_integer() else value
    raise Differs


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
