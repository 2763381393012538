"""Orders the upstreams of one group by weight, and always alike for one conversation. Pure.

Rendezvous hashing with weights (Schindelhauer, Schomaker, "Weighted Distributed Hash Tables", 2005): each upstream
draws a number from the hash of its name and the key, and the smallest `-ln(number) / weight` is first. An upstream with
three quarters of the weights is first for three quarters of all keys. If an upstream is absent, only its own keys
change, and each moves to its second upstream.

    weighted_order({"a": 3, "b": 1}, key="4f1c...")     # ("a", "b") for three of four keys
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from hashlib import blake2b

_BITS = 53  # of a float's mantissa


def weighted_order(weights: Mapping[str, int], *, key: str) -> tuple[str, ...]:
    """Return the names in the order in which they are asked.

    Args:
        weights: weight by name, at least 1.
        key: of the conversation.
    """
    return tuple(sorted(weights, key=lambda name: (-math.log(_drawn(name, key)) / weights[name], name)))


def _drawn(name: str, key: str) -> float:
    """Return a number above 0, at most 1, that is uniform over keys."""
    digest = blake2b(f"{key}\0{name}".encode(), digest_size=8).digest()
    return ((int.from_bytes(digest, "big") >> (64 - _BITS)) + 1) / (1 << _BITS)
