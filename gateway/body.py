"""Walks a JSON body: every string, key and number is seen, whatever field it stands in.

Nothing is waved through because it is unknown. Strings that hold JSON themselves (tool arguments, tool results) are
read decoded, so that `\\u0040` hides nothing, and written back only when something in them changed. A walk that
changes nothing returns the same object.

    walk(body, visitor)     # visitor.text(("messages", 0, "content"), "...") -> what to put there
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import orjson

Path = tuple[str | int, ...]
"""Where a value stands: keys and indices from the top; `JSON` where a string was decoded."""

JSON = "$json"
_DIGITS_WORTH_A_LOOK = 7  # as many as the shortest phone number


class TooDeep(ValueError):
    """The body is nested deeper than allowed."""


class Visitor(Protocol):
    """What a walk calls."""

    def text(self, path: Path, text: str, /) -> str:
        """A string; returns what shall stand there."""

    def key(self, path: Path, key: str, /) -> None:
        """A key of an object; keys are not replaced."""

    def number(self, path: Path, number: float, /) -> float | str:
        """A number of seven digits or more; returns what shall stand there."""

    def part(self, path: Path, part: Mapping[str, Any], /) -> None:
        """A content part of a message, before its fields."""


def walk(value: Any, visitor: Visitor, *, max_depth: int) -> Any:
    """`value` with what the visitor put in; the same object when nothing changed.

    Raises:
        TooDeep: nested deeper than `max_depth`, decoded strings included.
    """
    return _walk(value, (), visitor, max_depth)


def _walk(value: Any, path: Path, visitor: Visitor, depth_left: int) -> Any:
    if isinstance(value, str):
        return _walk_text(value, path, visitor, depth_left)
    if isinstance(value, dict | list) and not depth_left:
        raise TooDeep
    if isinstance(value, dict):
        return _walk_object(value, path, visitor, depth_left - 1)
    if isinstance(value, list):
        return _walk_list(value, path, visitor, depth_left - 1)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return visitor.number(path, value) if _has_many_digits(value) else value
    return value


def _walk_object(value: dict[str, Any], path: Path, visitor: Visitor, depth_left: int) -> dict[str, Any]:
    if is_content_part(path):
        visitor.part(path, value)
    changed: dict[str, Any] = {}
    for key, item in value.items():
        visitor.key(path, key)
        new = _walk(item, (*path, key), visitor, depth_left)
        if new is not item:
            changed[key] = new
    return {**value, **changed} if changed else value


def _walk_list(value: list[Any], path: Path, visitor: Visitor, depth_left: int) -> list[Any]:
    new = [_walk(item, (*path, index), visitor, depth_left) for index, item in enumerate(value)]
    return new if any(a is not b for a, b in zip(new, value, strict=True)) else value


def _walk_text(text: str, path: Path, visitor: Visitor, depth_left: int) -> str:
    if holds_json(path, text):
        try:
            decoded = orjson.loads(text)
        except orjson.JSONDecodeError:
            decoded = None
        if isinstance(decoded, dict | list):
            new = _walk(decoded, (*path, JSON), visitor, depth_left)
            return text if new is decoded else orjson.dumps(new).decode()
    return visitor.text(path, text)


def holds_json(path: Path, text: str) -> bool:
    """True for strings that are to be read decoded: tool arguments, and JSON texts with escapes in them."""
    return bool(path) and (path[-1] == "arguments" or ("\\" in text and text.lstrip()[:1] in ("{", "[")))


def is_content_part(path: Path) -> bool:
    """True for `messages[i].content[j]`."""
    return len(path) == 4 and path[0] == "messages" and path[2] == "content" and isinstance(path[3], int)


def _has_many_digits(number: float) -> bool:
    return bool(abs(number) >= 10 ** (_DIGITS_WORTH_A_LOOK - 1))
