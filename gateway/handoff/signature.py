"""Body and signature of a webhook call. Pure.

    x-sovctl-signature: t=1790000000,v1=<hex HMAC-SHA-256 of "1790000000." and the body>
    idempotency-key: ho-3f...        the same for all calls of one hand-off

The receiver computes the HMAC of the received bytes, compares it in constant time, and rejects an old `t`. The body
holds ids, reason codes, counts and times.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

import orjson

from .case import HandoffCase

SIGNATURE = "x-sovctl-signature"
_LONGEST_WAIT_S = 300.0
_FIRST_WAIT_S = 1.0


def body_of(case: HandoffCase, *, site: str) -> bytes:
    """Return the body of a call; the same bytes for all calls of a hand-off."""
    return orjson.dumps(
        {
            "event": "handoff.waiting",
            "id": case.id,
            "request_id": case.request_id,
            "site": site,
            "reasons": list(case.reasons),
            "counts": dict(case.counts),
            "made_at": case.made_at,
        },
        option=orjson.OPT_SORT_KEYS,
    )


def headers_of(case: HandoffCase, body: bytes, *, secret: bytes, now: int) -> dict[str, str]:
    """Return the headers of one call."""
    return {
        "Content-Type": "application/json",
        "User-Agent": "sovctl-gateway",
        "Idempotency-Key": case.id,
        SIGNATURE: f"t={now},v1={mac_of(body, secret=secret, at=now)}",
    }


def mac_of(body: bytes, *, secret: bytes, at: int) -> str:
    """Return the signature of a body that is sent at a time, in seconds since 1970."""
    return hmac.digest(secret, b"%d." % at + body, sha256).hex()


def wait_s(attempts: int, jitter: float) -> float:
    """Return the wait after failed calls, in seconds: doubled each time, up to five minutes.

    Args:
        attempts: number of failed calls.
        jitter: 0 to 1; selects a time in the second half of the wait, so that calls do not coincide.
    """
    longest = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** min(attempts, 20))
    return longest * (0.5 + jitter / 2)
