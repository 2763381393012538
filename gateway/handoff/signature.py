"""What a webhook sends, and how its receiver knows that it is ours and new. Pure.

    x-sovctl-signature: t=1790000000,v1=<hex HMAC-SHA-256 of "1790000000." and the body>
    idempotency-key: ho-3f...        the same each time that one hand-off is told of

The receiver computes the HMAC over the bytes that came, compares in constant time, and refuses an old `t`. The body
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
    """What a receiver is told of a hand-off; the same bytes every time."""
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
    """The headers of one attempt."""
    return {
        "Content-Type": "application/json",
        "User-Agent": "sovctl-gateway",
        "Idempotency-Key": case.id,
        SIGNATURE: f"t={now},v1={mac_of(body, secret=secret, at=now)}",
    }


def mac_of(body: bytes, *, secret: bytes, at: int) -> str:
    """The signature of a body that is sent at a time."""
    return hmac.digest(secret, b"%d." % at + body, sha256).hex()


def wait_s(attempts: int, jitter: float) -> float:
    """How long to wait after so many attempts in vain: twice as long each time, up to five minutes.

    Args:
        jitter: 0 to 1; spreads what failed together over the second half of that time.
    """
    longest = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** min(attempts, 20))
    return longest * (0.5 + jitter / 2)
