"""One measured recording."""

from __future__ import annotations

from typing import NamedTuple


class Recording(NamedTuple):
    """Facts of a recording for the audit record. It contains no sound and no text."""

    duration_ms: int
    """Duration of the decoded sound, in milliseconds, rounded down."""
    size_bytes: int
    hmac: str
    """Keyed digest of the file, as of requests and answers."""
