"""Restores the events of a stream: chunks of the upstream in, framed events for the client out. Pure.

    restored = RestoredEvents(surface.stream(restoration), max_event_bytes=1 << 20)
    restored.feed(b'data: {"choices":[...]}\\n\\n')      # b'data: {"choices":[...]}\\n\\n'

Most servers write one event at a time, and most events have a form that was seen before. Such a chunk is neither split
nor parsed.
"""

from __future__ import annotations

from collections.abc import Callable

from ..body.sse import END_OF_EVENT, Framer, event
from ..quota.need import may_report_usage
from ..surfaces import EventStream
from ..surfaces.answers.answer_json import without_lone_surrogates


class RestoredEvents:
    """The events of one stream.

    Args:
        max_event_bytes: limit of an event that comes in several chunks; a larger one raises `EventTooLarge`.
        is_left_out: notes the usage in an event, and returns True to omit it; None if usage is not counted.
    """

    def __init__(
        self, stream: EventStream, *, max_event_bytes: int, is_left_out: Callable[[bytes], bool] | None = None
    ) -> None:
        self._stream, self._put = stream, stream.put
        self._framer = Framer(max_event_bytes=max_event_bytes)
        self._is_left_out = is_left_out

    def feed(self, piece: bytes) -> bytes:
        """Return the events that are complete now, joined; empty without one.

        Raises:
            EventTooLarge: an event is larger than `max_event_bytes`.
            UpstreamFailed: an event is invalid.
        """
        is_left_out = self._is_left_out
        if (
            self._framer.is_between_events
            and (is_left_out is None or not may_report_usage(piece))
            and (known := self._put(piece)) is not None
        ):
            return known
        if half := _half_of(piece):  # several events, not all of one form
            return self.feed(piece[:half]) + self.feed(piece[half:])
        out: list[bytes] = []
        for data in map(without_lone_surrogates, self._framer.feed(piece)):
            if is_left_out is not None and may_report_usage(data) and is_left_out(data):
                continue
            if (known := self._put(event(data))) is not None:
                out.append(known)
            else:
                out += self._stream.feed(data)
        return out[0] if len(out) == 1 else b"".join(out)


def _half_of(piece: bytes) -> int:
    """Return the end of the event in the middle of `piece`, or of the one before it; 0 if it holds less than two."""
    last = max(0, len(piece) - len(END_OF_EVENT))
    end = piece.find(END_OF_EVENT, len(piece) // 2, last)
    if end < 0:
        end = piece.rfind(END_OF_EVENT, 0, last)
    return end + len(END_OF_EVENT) if end >= 0 else 0
