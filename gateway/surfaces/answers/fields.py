"""Selects the strings of an answer that the model wrote: all except those under known keys for other content.

restored(answer, Fields(left_alone=frozenset({"id"}), json=frozenset({"arguments"})), restoration)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .restoration import Restoration


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


_ANNOTATED = ("text", "content")  # of a part of a response, of a chat message
_THINKING = frozenset({"summary_text", "reasoning_text", "response.reasoning_summary_text.done"})


def restored(value: Any, fields: Fields, restoration: Restoration, *, is_json: bool = False) -> Any:
    """Return `value` with restored values in all strings of the model.

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
        made, left_alone, documents = dict(value), fields.left_alone, fields.documents
        for key, item in value.items():
            if not item or key in left_alone:
                continue
            if key in documents:
                made[key] = _document(item, restoration)
            else:
                made[key] = restored(item, fields, restoration, is_json=key in json_keys)
        if made.get("annotations"):
            _move(made["annotations"], value, json_keys, restoration)
        return made
    return value


def _document(value: Any, restoration: Restoration) -> Any:
    if isinstance(value, str):
        return restoration.text(value)
    if isinstance(value, list):
        return [_document(item, restoration) for item in value]
    if isinstance(value, dict):
        return {restoration.text(key): _document(item, restoration) for key, item in value.items()}
    return value


def _move(annotations: Any, value: Mapping[str, Any], json_keys: frozenset[str], restoration: Restoration) -> None:
    """Adjust the offsets of annotations to the restored text next to them."""
    key = next((key for key in _ANNOTATED if isinstance(value.get(key), str)), None)
    if key is not None:
        restorer = restoration.repeated().restorer(is_json=key in json_keys)
        restorer.feed(value[key])
        restorer.flush()
        restorer.offsets.move(annotations)
