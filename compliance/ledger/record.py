"""Encodes a record of the ledger as canonical JSON (RFC 8785)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sovctl.support.canonical_json import canonical_json
from sovctl.support.errors import InputError

from .format import MAX_RECORD_BYTES


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Return the canonical JSON of a record, 2 to 65,535 bytes.

    Raises:
        InputError: the record is too large, or has values that are not plain. The message omits the record.
    """
    try:
        data = canonical_json(record)
    except ValueError as error:
        raise InputError(f"expected a ledger record of plain values, got {type(error).__name__}") from None
    if len(data) > MAX_RECORD_BYTES:
        raise InputError(
            f"expected a ledger record of at most {MAX_RECORD_BYTES} bytes, got {len(data)}",
            hint="store the body in a file and its SHA-256 in the record",
        )
    return data
