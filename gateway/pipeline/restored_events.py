"""From the bytes of an upstream's stream, in any pieces, to the framed events that its client gets. Pure.

    restored = RestoredEvents(surface.stream(restoration), max_event_bytes=1 << 20)
    restored.feed(b'data: {"choices":[...]}\\n\\n')      # b'data: {"choices":[...]}\\n\\n'

Most servers write one event at a time, and most events have a form that is known by then: such a piece is neither cut
nor read.
"""

from __future__ import annotations

from collections.abc import Callable

from ..body.sse import END_OF_EVENT, Framer, event
from ..quota.need import may_tell_usage
from ..surfaces import EventStream
from ..surfaces.answer_json import without_lone_surrogates


class RestoredEvents:
    """The events of one stream.

    Args:
        max_event_bytes: of an event that comes in pieces; a larger one raises `EventTooLarge`.
        is_left_out: notes what an event tells of usage; true for one that the client did not ask for. None when nobody
            counts.
    """

    def __init__(
        self, stream: EventStream, *, max_event_bytes: int, is_left_out: Callable[[bytes], bool] | None = None
    ) -> None:
        self._stream, self._put = stream, stream.put
        self._framer = Framer(max_event_bytes=max_event_bytes)
        self._is_left_out = is_left_out

    def feed(self, piece: bytes) -> bytes:
        """The events that are whole now, joined; empty when there are none.

        Raises:
            EventTooLarge: an event is larger than allowed.
            UpstreamFailed: it is no answer.
        """
        is_left_out = self._is_left_out
        if (
            self._framer.is_between_events
            and (is_left_out is None or not may_tell_usage(piece))
            and (known := self._put(piece)) is not None
        ):
            return known
        if half := _half_of(piece):  # several events, not all of one form
            return self.feed(piece[:half]) + self.feed(piece[half:])
        out: list[bytes] = []
        for data in map(without_lone_surrogates, self._framer.feed(piece)):
            if is_left_out is not None and may_tell_usage(data) and is_left_out(data):
                continue
            if (known := self._put(event(data))) is not None:
                out.append(known)
            else:
                out += self._stream.feed(data)
        return out[0] if len(out) == 1 else b"".join(out)


def _half_of(piece: bytes) -> int:
    """Where the event in the middle ends, or the one before it; 0 where no event ends but at the end of `piece`."""
    last = max(0, len(piece) - len(END_OF_EVENT))
    end = piece.find(END_OF_EVENT, len(piece) // 2, last)
    if end < 0:
        end = piece.rfind(END_OF_EVENT, 0, last)
    return end + len(END_OF_EVENT) if end >= 0 else 0
