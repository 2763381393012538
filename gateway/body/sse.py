"""Server-sent events: splits a byte stream into whole events (WHATWG HTML, 9.2.6).

framer = Framer(max_event_bytes=1 << 20)
framer.feed(b'data: {"a"')     # []
framer.feed(b": 1}\\n\\n")      # [b'{"a": 1}']
"""

from __future__ import annotations

import re

END_OF_EVENT = b"\n\n"
"""The delimiter of most servers."""
_ANY_END_OF_EVENT = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_END_OF_LINE = re.compile(rb"\r\n|\n|\r")
_MARK = b"\xef\xbb\xbf"  # byte order mark, optional at the beginning of a stream
DONE = b"[DONE]"


class EventTooLarge(ValueError):
    """An event is larger than allowed."""


class Framer:
    """Collects bytes until an event is complete.

    Args:
        max_event_bytes: larger events raise `EventTooLarge`.
    """

    def __init__(self, *, max_event_bytes: int) -> None:
        self._max_event_bytes = max_event_bytes
        self._buffer = bytearray()
        self._is_begun = False
        self.is_between_events = True
        """No incomplete event is buffered."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of every event that is complete now, in order; comments and other fields are omitted."""
        if not self._buffer and chunk.startswith(b"data: ") and chunk.endswith(b"\n\n") and 13 not in chunk:  # no CR
            if chunk.find(b"\n") == len(chunk) - 2 <= self._max_event_bytes:
                return [chunk[6:-2]]  # one complete event: the usual chunk of most servers
            lines = chunk[6:-2].split(b"\n\ndata: ")
            if chunk.count(b"\n") == 2 * len(lines) and max(map(len, lines)) <= self._max_event_bytes:
                return lines  # several events: the server wrote faster than this process read
        searched = max(0, len(self._buffer) - 3)
        self._buffer += chunk
        if not self._is_begun and len(self._buffer) >= len(_MARK):
            self._is_begun = True
            if self._buffer.startswith(_MARK):
                del self._buffer[: len(_MARK)]
                searched = 0
        events: list[bytes] = []
        while (end := _ANY_END_OF_EVENT.search(self._buffer, searched)) is not None:
            data = _data(bytes(self._buffer[: end.start()]))
            if data is not None:
                events.append(data)
            del self._buffer[: end.end()]
            searched = 0
        if len(self._buffer) > self._max_event_bytes:
            raise EventTooLarge
        self.is_between_events = not self._buffer
        return events


def event(data: bytes) -> bytes:
    """Return one event in the format for the client."""
    return b"data: " + data + b"\n\n"


def _data(block: bytes) -> bytes | None:
    lines = [line[5:].removeprefix(b" ") for line in _END_OF_LINE.split(block) if line.startswith(b"data:")]
    return b"\n".join(lines) if lines else None
