"""Defines the strings of a surface's answers that the model wrote, and their formats.

One definition serves complete answers, streams and release checks: every string is the model's, except under known
keys for other content.

FIELDS = Fields(left_alone=frozenset({"id"}), json=frozenset({"arguments"}))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Channel = tuple[str | int | None, ...]
"""Location of a string in an answer, or in the events in which it grows: indices and keys."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Keys of an answer with a special meaning."""

    left_alone: frozenset[str]
    """Ids, types, roles, figures about the answer, and logprobs, which describe the model's tokens."""
    json: frozenset[str] = frozenset()
    """Strings that contain the text of a JSON document."""
    answer: frozenset[str] = frozenset()
    """Strings that contain one if the request asked for an answer in JSON."""
    documents: frozenset[str] = frozenset()
    """Objects that are such documents, not their text: the model wrote every key and every string in them."""
    unsplit: frozenset[str] = frozenset()
    """Values in the deltas of a stream that are not continued by a later event."""
    deltas: Mapping[str, str] = field(default_factory=dict)
    """Type of an event -> the key of a complete answer whose string its `delta` continues."""


def item_index(item: Any, position: int) -> int:
    """Return the `index` of a tool call, which identifies the call it continues; of other items, their position."""
    index = item.get("index") if isinstance(item, dict) else None
    return index if isinstance(index, int) else position
