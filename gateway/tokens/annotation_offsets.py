"""Adjusts the offsets of annotations after tokens were replaced by values of another length. Pure.

Annotations refer to text by offsets. The upstream counted them in its text, which contains tokens.

offsets = Offsets()
offsets.add(10, 29, 16)      # a token of 19 characters became a value of 16
offsets.place(40)            # 37
offsets.move([{"type": "url_citation", "start_index": 40, "end_index": 43}])
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

# openai 3.52, `types/responses/response_output_text.py` and `types/chat/chat_completion_message.py` (read 2026-11);
# `index` of a file is its position in a list of files.
_PLACES = ("start_index", "end_index")


class Offsets:
    """Offsets of one channel."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._shifts = [0]

    def copy(self) -> Offsets:
        """Return a copy."""
        other = Offsets()
        other._starts, other._ends, other._shifts = self._starts[:], self._ends[:], self._shifts[:]
        return other

    def add(self, start: int, end: int, length: int) -> None:
        """Record that the span from `start` to `end` now has this length; spans are added in ascending order."""
        self._starts.append(start)
        self._ends.append(end)
        self._shifts.append(self._shifts[-1] + length - (end - start))

    def place(self, offset: int) -> int:
        """Return the new offset; for an offset within a replaced span, the span's start."""
        number = bisect_right(self._ends, offset)
        if number < len(self._starts):
            offset = min(offset, self._starts[number])
        return offset + self._shifts[number]

    def move(self, annotations: Any) -> None:
        """Adjust the offsets in annotations, in place; other values are ignored."""
        if not self._starts or not isinstance(annotations, list):
            return
        for each in annotations:
            if isinstance(each, dict):
                for holder in (each, *(inner for inner in each.values() if isinstance(inner, dict))):
                    for name in _PLACES:
                        if type(holder.get(name)) is int:
                            holder[name] = self.place(holder[name])
