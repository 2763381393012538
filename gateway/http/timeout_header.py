"""How long may a request take? What its client says, and never longer than the site allows. Pure.

A client that says nothing waits as long as it likes; ours is then the only limit. The time is for the beginning of an
answer: its head, or a stream's first event. What remains of it goes to each attempt.

timeout_s(own="30", sdk=None, at_most_s=600.0)      # 30.0
"""

from __future__ import annotations

import math

OWN_HEADER = b"x-request-timeout"
"""Seconds, ours."""
SDK_HEADER = b"x-stainless-read-timeout"
"""Seconds, as the clients of openai (2.x) and anthropic (1.x) send them: how long they wait for the next byte."""


def timeout_s(*, own: str | None, sdk: str | None, at_most_s: float) -> float:
    """How long this request may take to begin an answer, in seconds.

    Args:
        own: value of `OWN_HEADER`.
        sdk: value of `SDK_HEADER`; one that is no time is ignored, because no person wrote it.

    Raises:
        ValueError: `own` is no time.
    """
    limits = [at_most_s]
    if own is not None:
        seconds = _seconds(own)
        if seconds is None:
            raise ValueError("expected seconds above 0")
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
