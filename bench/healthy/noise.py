"""Varies the good answers of `check_cases`: values that differ between healthy nodes, within the limits of checks."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_NOISE: tuple[tuple[str, str, Callable[[random.Random], str]], ...] = (
    ("memory.", r"\bce=\d+", lambda source: f"ce={source.randint(0, 200)}"),  # in 10 days: at most 20 a day
    ("disk.free-space", r"\b322122547200\b", lambda source: str(source.randrange(107374182400, 429496729600))),
    ("disk.", r'"percentage_used": \d+', lambda source: f'"percentage_used": {source.randint(0, 60)}'),
    ("clock.drift", r"-12\.345", lambda source: f"{source.uniform(-50, 50):.3f}"),
    ("clock.synchronized", r"-0\.000412", lambda source: f"{source.uniform(-0.002, 0.002):.6f}"),
    ("", r'"latency_ms": \d+', lambda source: f'"latency_ms": {source.randint(3, 900)}'),
    ("host.log-shipping", r":40112 ", lambda source: f":{source.randint(32768, 60999)} "),
)
"""Prefix of the check, pattern, and new text."""


def varied(check_id: str, text: str, source: random.Random) -> str:
    """Return the text with other values of the same meaning."""
    for prefix, pattern, new in _NOISE:
        if check_id.startswith(prefix):
            text = re.sub(pattern, lambda _, new=new: new(source), text)  # type: ignore[misc]
    return text
