"""Computes a request's timeout from its headers, bounded by the site's limit. Pure.

The timeout applies to the beginning of an answer: its head, or a stream's first event. Each attempt gets the remaining
time.

timeout_s(own="30", sdk=None, at_most_s=600.0)      # 30.0
"""

from __future__ import annotations

import math

OWN_HEADER = b"x-request-timeout"
"""Header of sovctl: seconds."""
SDK_HEADER = b"x-stainless-read-timeout"
"""Header of the clients of openai (2.x) and anthropic (1.x): seconds until the next byte."""


def timeout_s(*, own: str | None, sdk: str | None, at_most_s: float) -> float:
    """Return the seconds until this request's answer must begin.

    Args:
        own: value of `OWN_HEADER`.
        sdk: value of `SDK_HEADER`; an invalid one is ignored, because the library sets it and not the user.

    Raises:
        ValueError: `own` is not a positive number.
    """
    limits = [at_most_s]
    if own is not None:
        seconds = _seconds(own)
        if seconds is None:
            raise ValueError("expected seconds, greater than 0")
        limits.append(seconds)
    if sdk is not None and (seconds := _seconds(sdk)) is not None:
        limits.append(seconds)
    return min(limits)


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None
