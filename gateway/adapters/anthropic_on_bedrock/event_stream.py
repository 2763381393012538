"""Splits a byte stream of AWS into its messages (`application/vnd.amazon.eventstream`). Pure.

    framer = EventStreamFramer(max_event_bytes=1 << 20)
    framer.feed(data)      # [{"contentBlockDelta": {...}}]

| bytes | content of a message, integers in network byte order |
|---|---|
| 4, 4, 4 | length of the message, length of its headers, CRC-32 of these two |
| variable | headers: length of the name, name, type 7, length of the string (2 bytes), string |
| variable | payload, JSON |
| 4 | CRC-32 of all bytes before |

Both checksums are verified. Source: Smithy 2.0, "Amazon Event Stream Specification" (read 2026-11).
"""

from __future__ import annotations

import struct
from typing import Any
from zlib import crc32

import orjson

from ...body.sse import EventTooLarge
from ...domain.errors import UpstreamFailed
from .events import EXCEPTION

_PRELUDE = struct.Struct(">III")
_CHECKSUM = struct.Struct(">I")
_LENGTH = struct.Struct(">H")
_OVERHEAD = _PRELUDE.size + _CHECKSUM.size
# Lengths of header values by type: true, false, byte, short, integer, long, then variable ones, timestamp, UUID.
_FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_BYTES, _STRING = 6, 7


class EventStreamFramer:
    """Collects bytes until a message is complete.

    Args:
        max_event_bytes: larger messages raise `EventTooLarge`.
    """

    def __init__(self, *, max_event_bytes: int) -> None:
        self._max_event_bytes = max_event_bytes
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """Return the complete messages: objects with the type of the event, and its payload.

        Raises:
            EventTooLarge: a message is too large.
            UpstreamFailed: a checksum is wrong, or a message invalid.
        """
        self._buffer += chunk
        events = []
        while len(self._buffer) >= _PRELUDE.size:
            total, header_bytes, checksum = _PRELUDE.unpack_from(self._buffer)
            if crc32(self._buffer[: _PRELUDE.size - 4]) != checksum or total < _OVERHEAD + header_bytes:
                raise UpstreamFailed("protocol")
            if total > self._max_event_bytes:
                raise EventTooLarge
            if len(self._buffer) < total:
                break
            message = bytes(self._buffer[:total])
            del self._buffer[:total]
            if crc32(message[:-4]) != _CHECKSUM.unpack_from(message, total - 4)[0]:
                raise UpstreamFailed("protocol")
            end = _PRELUDE.size + header_bytes
            events.append(_event(_headers(message[_PRELUDE.size : end]), message[end:-4]))
        return events


def _event(headers: dict[str, str], payload: bytes) -> dict[str, Any]:
    if headers.get(":message-type") != "event":
        return {EXCEPTION: {}}  # its text may repeat the prompt
    try:
        return {headers[":event-type"]: orjson.loads(payload)}
    except (KeyError, orjson.JSONDecodeError):
        raise UpstreamFailed("protocol") from None


def _headers(data: bytes) -> dict[str, str]:
    """Return the headers that are strings."""
    headers: dict[str, str] = {}
    place = 0
    try:
        while place < len(data):
            name_end = place + 1 + data[place]
            name, kind = data[place + 1 : name_end].decode(), data[name_end]
            place = name_end + 1
            if kind in (_BYTES, _STRING):
                (length,) = _LENGTH.unpack_from(data, place)
                place += _LENGTH.size + length
                if place > len(data):
                    raise UpstreamFailed("protocol")
                if kind == _STRING:
                    headers[name] = data[place - length : place].decode()
            else:
                place += _FIXED[kind]
    except (IndexError, KeyError, UnicodeDecodeError, struct.error):
        raise UpstreamFailed("protocol") from None
    return headers
