"""Fields of the record of an erasure."""

from __future__ import annotations

from typing import Any

from ..vault.database.erasures import Erasure
from .records import timestamp


def erased_fields(erasure: Erasure) -> dict[str, Any]:
    """Return the fields that the ledger and the receipt of an erasure share."""
    return {
        "scope": erasure.scope,
        "scope_digest": erasure.scope_digest,
        "begun": timestamp(erasure.begun_at),
        "by": erasure.by,
        "conversations": erasure.conversations,
        "rings": erasure.rings,
        "data_keys": erasure.data_keys,
        "destroyed_sha256": erasure.destroyed_sha256,
        "wrapping_keys": erasure.wrapping_keys,
        "is_complete": erasure.is_complete,
    }
