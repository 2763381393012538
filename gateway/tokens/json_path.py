"""Tracks the keys of the position in a JSON text that comes in chunks.

path = JsonPath()
path.feed('{"message":{"to":["')
path.keys                                # ("message", "to")
"""

from __future__ import annotations

import json
import re

_TOKEN = re.compile(r'[{}\[\]:,]|[^\s{}\[\]:,"]+|\s+|"')
_STRING_END = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_LONGEST_KEY = 4096  # characters as written; no tool has such a key, and collecting it takes time


class JsonPath:
    """Keys of the position so far."""

    def __init__(self) -> None:
        self._open: list[str] = []  # brackets
        self._keys: list[str | None] = []  # one for each open object; None before its first key
        self._taken: list[set[str]] = []  # keys of each open object, so far
        self._is_in_string = False
        self._is_escaped = False  # the text ends within a string, after a backslash that escapes the next character
        self._key = ""  # raw text of the key so far
        self._is_key = False
        self._may_be_key = False
        self._is_broken = False

    @property
    def keys(self) -> tuple[str, ...] | None:
        """Keys of the value at this position; of a key, those of its object. None if the text is no JSON."""
        if self._is_broken:
            return None
        keys = self._keys[:-1] if self._is_key and self._is_in_string else self._keys
        return tuple(key for key in keys if key is not None)

    def is_taken(self, key: str) -> bool:
        """Return whether the position is the start of a key, and the object already has `key`."""
        return self._is_key and self._is_in_string and not self._key and key in self._taken[-1]

    def take(self, key: str) -> None:
        """Record that the client gets `key` at this position, if it is the start of a key."""
        if self._is_key and self._is_in_string and not self._key:
            self._taken[-1].add(key)

    def feed(self, text: str) -> None:
        """Add raw JSON text."""
        position = 0
        while position < len(text) and not self._is_broken:
            if self._is_in_string:
                position = self._in_string(text, position)
                continue
            match = _TOKEN.match(text, position)
            if match is None:
                self._is_broken = True
                return
            position = match.end()
            self._outside(match.group())

    def _in_string(self, text: str, position: int) -> int:
        """Read to the end of the string, or of the text; return the position after it."""
        begin = position + self._is_escaped
        match = _STRING_END.match(text, begin)
        end = len(text) if match is None else match.end()
        if self._is_key:
            self._key += text[position : end if match is None else end - 1]
            self._is_broken = len(self._key) > _LONGEST_KEY
        if match is None:
            self._is_escaped = _has_odd_end(text, begin)
            return end
        self._is_in_string = self._is_escaped = False
        if self._is_key and not self._is_broken:
            try:
                self._keys[-1] = key = json.loads(f'"{self._key}"', strict=False)
                self._taken[-1].add(key)
            except ValueError:
                self._is_broken = True
        self._is_key = False
        return end

    def _outside(self, token: str) -> None:
        first = token[0]
        if first == '"':
            self._is_in_string, self._is_key, self._key = True, self._may_be_key, ""
            self._may_be_key = False
        elif first == "{":
            self._open.append("{")
            self._keys.append(None)
            self._taken.append(set())
            self._may_be_key = True
        elif first == "[":
            self._open.append("[")
            self._may_be_key = False
        elif first in "}]":
            if not self._open or self._open.pop() != ("{" if first == "}" else "["):
                self._is_broken = True
            elif first == "}":
                self._keys.pop()
                self._taken.pop()
            self._may_be_key = False
        elif first == ",":
            self._is_broken = not self._open
            self._may_be_key = bool(self._open) and self._open[-1] == "{"


def _has_odd_end(text: str, begin: int) -> bool:
    """Return whether `text` has an odd number of backslashes at its end, from `begin` on."""
    end = len(text)
    while end > begin and text[end - 1] == "\\":
        end -= 1
    return (len(text) - end) % 2 == 1
