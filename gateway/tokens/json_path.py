"""Tracks the keys of the position in a JSON text that comes in chunks.

path = JsonPath()
path.feed('{"message":{"to":["')
path.keys                                # ("message", "to")
"""

from __future__ import annotations

import json
import re

_TOKEN = re.compile(r'[{}\[\]:,]|[^\s{}\[\]:,"]+|\s+|"')
_STRING_END = re.compile(r'(?:[^"\\]|\\.)*?"', re.DOTALL)


class JsonPath:
    """Keys of the position so far."""

    def __init__(self) -> None:
        self._open: list[str] = []  # brackets
        self._keys: list[str | None] = []  # one for each open object; None before its first key
        self._string: str | None = None  # raw text of the string so far; None outside of strings
        self._is_key = False
        self._may_be_key = False
        self._is_broken = False

    @property
    def keys(self) -> tuple[str, ...] | None:
        """Keys of the value at this position; of a key, those of its object. None if the text is no JSON."""
        if self._is_broken:
            return None
        keys = self._keys[:-1] if self._is_key and self._string is not None else self._keys
        return tuple(key for key in keys if key is not None)

    def feed(self, text: str) -> None:
        """Add raw JSON text."""
        position = 0
        while position < len(text) and not self._is_broken:
            if self._string is not None:
                position = self._in_string(text, position)
                continue
            match = _TOKEN.match(text, position)
            if match is None:
                self._is_broken = True
                return
            position = match.end()
            self._outside(match.group())

    def _in_string(self, text: str, position: int) -> int:
        assert self._string is not None
        seen = self._string[-1:] if self._string.endswith("\\") and _odd(self._string) else ""
        match = _STRING_END.match(seen + text[position:])
        if match is None:
            self._string += text[position:]
            return len(text)
        end = position + match.end() - len(seen)
        raw = self._string + text[position : end - 1]
        self._string = None
        if self._is_key:
            try:
                self._keys[-1] = json.loads(f'"{raw}"', strict=False)
            except ValueError:
                self._is_broken = True
            self._is_key = False
        return end

    def _outside(self, token: str) -> None:
        first = token[0]
        if first == '"':
            self._string, self._is_key = "", self._may_be_key
            self._may_be_key = False
        elif first == "{":
            self._open.append("{")
            self._keys.append(None)
            self._may_be_key = True
        elif first == "[":
            self._open.append("[")
            self._may_be_key = False
        elif first in "}]":
            if not self._open or self._open.pop() != ("{" if first == "}" else "["):
                self._is_broken = True
            elif first == "}":
                self._keys.pop()
            self._may_be_key = False
        elif first == ",":
            self._is_broken = not self._open
            self._may_be_key = bool(self._open) and self._open[-1] == "{"


def _odd(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1
