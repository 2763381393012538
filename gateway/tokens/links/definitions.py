"""Destinations of reference definitions: `[label]: destination "title"`, also on a later line."""

from __future__ import annotations

import re

from .destinations import destination_end, destination_start

_DEFINITION = re.compile(r"\]:")
_NO_DEFINITION = re.compile(r"[^\s<]\S*[ \t]+[^\s\"'(&\\]")  # text after a destination that is not its title
_MAX_DESTINATION = 300


class Definition:
    """The last reference definition of a text that comes in chunks of any size."""

    def __init__(self) -> None:
        self._since: str | None = None  # text since `]:`; None outside of a destination
        self._tail = ""

    def copy(self) -> Definition:
        """Return a copy."""
        other = Definition()
        other._since, other._tail = self._since, self._tail
        return other

    def feed(self, text: str) -> None:
        """Add text."""
        if self._since is None:
            if "]" not in text and self._tail != "]":
                self._tail = ""
                return
            seen, start = self._tail + text, 0
        else:
            seen, start = self._since + text, None
        self._tail = text[-1:] if text[-1:] == "]" else ""
        if start is None:
            begin = destination_start(seen, 0)
            end = destination_end(seen, begin)
            if end is None:
                self._since = seen[begin : begin + _MAX_DESTINATION]
                return
            self._since, start = None, end
        while (match := _DEFINITION.search(seen, start)) is not None:
            begin = destination_start(seen, match.end())
            end = destination_end(seen, begin)
            if end is None:
                self._since = seen[begin : begin + _MAX_DESTINATION]
                return
            start = end

    def restored(self, value: str) -> None:
        """Record that a value replaced a token."""
        self._tail = ""
        if self._since is not None:
            self._since += value.replace("\n", " ")[:_MAX_DESTINATION]

    @property
    def is_open(self) -> bool:
        """The text so far ends in a destination, or before one."""
        return self._since is not None

    @property
    def is_at_start(self) -> bool:
        """No character of the destination has been read."""
        return not self._since or self._since == "<"

    def begins_with(self, text: str) -> bool:
        """Return whether the destination begins so.

        Args:
            text: in lower case.
        """
        return self._since is not None and self._since.lower().startswith(text)

    def may_hold(self, value: str, following: str) -> bool:
        """Return whether `value` may become a part of a destination."""
        if self._since is None:
            return False
        return _NO_DEFINITION.match(self._since + value + following) is None


def definition_regions(text: str) -> list[tuple[int, int]]:
    """Return the spans of the destinations in a whole text, in order.

    A `]:` within a destination begins none of its own: it would end at the same place, and the same text follows it.
    """
    regions = []
    ends = {True: 0, False: 0}  # of the last destination in angle brackets, and without them
    for match in _DEFINITION.finditer(text):
        begin = destination_start(text, match.end())
        is_bracketed = text.startswith("<", begin)
        if begin < ends[is_bracketed]:
            continue
        end = destination_end(text, begin)
        ends[is_bracketed] = len(text) if end is None else end
        if _NO_DEFINITION.match(text, begin) is None:
            regions.append((begin, ends[is_bracketed] if end is None else end - 1))
    return regions
