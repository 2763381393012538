"""Which strings of an answer are the model's. All are, but for those under keys that are known to hold something else.

restored(answer, Fields(left_alone=frozenset({"id"}), json=frozenset({"arguments"})), restoration)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sovctl.gateway.surfaces.restoration import Restoration


@dataclass(frozen=True, slots=True)
class Fields:
    """Keys of an answer that mean something to us."""

    left_alone: frozenset[str]
    """Ids, types, roles, numbers about the answer; and logprobs, which describe the tokens that the model wrote."""
    json: frozenset[str] = frozenset()
    """Strings that hold the text of a JSON document."""
    answer: frozenset[str] = frozenset()
    """Strings that hold one where the request asked for an answer in JSON."""


_THINKING = frozenset({"summary_text", "reasoning_text", "response.reasoning_summary_text.done"})


def restored(value: Any, fields: Fields, restoration: Restoration, *, is_json: bool = False) -> Any:
    """`value` with the values of tokens in all strings that are the model's.

    Args:
        is_json: a string here is the text of a JSON document.
    """
    if isinstance(value, str):
        return restoration.text(value, is_json=is_json) if value else value
    if isinstance(value, list):
        return [restored(item, fields, restoration) for item in value]
    if isinstance(value, dict):
        json_keys = fields.json
        if restoration.is_json and value.get("type") not in _THINKING:
            json_keys |= fields.answer
        return {
            key: item if key in fields.left_alone else restored(item, fields, restoration, is_json=key in json_keys)
            for key, item in value.items()
        }
    return value
