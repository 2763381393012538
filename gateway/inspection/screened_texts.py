"""The texts of a request that screens read, each with the role of its author.

    screened_texts(leaves.texts, body, surface)      # [(ScreenedText.USER, "Hello\\nplease read this"), ...]

The texts of one message and role are read as one, so that no text hides its meaning in the next part. The innermost
statement about a text decides its role: the field of the request, the role of the message, the type of the block. A
text about which nothing is stated is one of a user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..body.json_texts import ORDINARY, JsonText, Path
from ..settings.detection.screen import ScreenedText
from ..surfaces import Surface

_FIELDS = {
    "system": ScreenedText.SYSTEM,
    "instructions": ScreenedText.SYSTEM,
    "tools": ScreenedText.TOOL,
    "functions": ScreenedText.TOOL,
    "documents": ScreenedText.DOCUMENT,
    "prediction": ScreenedText.ASSISTANT,
}
_ROLES = {
    "user": ScreenedText.USER,
    "tool": ScreenedText.TOOL,
    "function": ScreenedText.TOOL,
    "system": ScreenedText.SYSTEM,
    "developer": ScreenedText.SYSTEM,
    "assistant": ScreenedText.ASSISTANT,
}
# Types of blocks and items (openai 2, `types/responses/response_input_item_param.py`; anthropic 2.12,
# `types/content_block_param.py`; read 2026-11). All of these are screened by default.
_TYPES = {
    "tool_result": ScreenedText.TOOL,
    "function_call_output": ScreenedText.TOOL,
    "custom_tool_call_output": ScreenedText.TOOL,
    "mcp_call": ScreenedText.TOOL,
    "document": ScreenedText.DOCUMENT,
    "search_result": ScreenedText.DOCUMENT,
    "file": ScreenedText.DOCUMENT,
    "input_file": ScreenedText.DOCUMENT,
}


def screened_texts(
    leaves: Iterable[JsonText], body: Mapping[str, Any], surface: Surface
) -> list[tuple[ScreenedText, str]]:
    """Return the texts by role, in order, without repetition; those of one message and role as one."""
    messages: dict[tuple[Path, ScreenedText], list[str]] = {}
    for leaf in leaves:
        if leaf.text in ORDINARY or leaf.path[0] in surface.dropped:
            continue
        together = surface.prose(leaf.path) or leaf.path[:2]
        messages.setdefault((together, _role(leaf, body)), []).append(leaf.text)
    return list(dict.fromkeys((role, "\n".join(texts)) for (_, role), texts in messages.items()))


def _role(leaf: JsonText, body: Mapping[str, Any]) -> ScreenedText:
    if leaf.wrapping is not None:
        return ScreenedText.DOCUMENT  # the text of a file
    role = _FIELDS.get(str(leaf.path[0]), ScreenedText.USER)
    holder: Any = body
    for place in leaf.path:
        if not isinstance(holder, dict | list):
            break  # inside a string that holds JSON
        if isinstance(holder, dict):
            role = _stated(_ROLES, holder.get("role")) or _stated(_TYPES, holder.get("type")) or role
            if place not in holder:
                break
        holder = holder[place]  # type: ignore[index]  # a path names the keys and indices of this body
    return role


def _stated(table: Mapping[str, ScreenedText], word: Any) -> ScreenedText | None:
    return table.get(word) if isinstance(word, str) else None
