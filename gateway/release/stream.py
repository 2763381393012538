"""Holds a stream until its sentences pass the release checks. Events stay complete and in order; text may be masked.

- Events wait in one queue until all text in them is judged. Other content (a finish reason, usage) waits for the text
  before it.
- Each string of the answer is judged sentence by sentence. It ends where the API marks its end, where its choice begins
  another one, or at the end of the stream. A JSON document is judged when it is complete.
- The queue is bounded in characters and seconds. At a bound, incomplete sentences are judged, except for the last
  characters, in which an identifier may begin. If a check needs complete sentences, the answer is withheld.

    gate = StreamGate(checks, surface, clock=time.monotonic)
    gate.feed(b'data: {"choices":[{"index":0,"delta":{"content":"It costs"}}]}\\n\\n')     # b""
    gate.feed(b'data: {"choices":[{"index":0,"delta":{"content":" 4 %. N"}}]}\\n\\n')      # both events
    gate.flush()
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from ..surfaces import Surface
from ..surfaces.answers.fields import Channel
from ..surfaces.answers.model_strings import ModelString
from .judge import GrowingDocument, ReleaseCheckRun, Unit
from .model_text import ModelText
from .verdict import AnswerWithheld
from .whole import without

_NAMES_LENGTH = 200  # characters of a tool's name


@dataclass(slots=True)
class _Held:
    """An event in the queue."""

    raw: bytes
    event: Any
    arrived: float
    waiting: int = 0
    """Number of its strings that are not judged yet."""
    only: _Piece | None = None
    """Its text; None if it has several strings, or other content in order."""
    is_changed: bool = False
    is_masked: bool = False


@dataclass(slots=True)
class _Piece:
    """Text that one event added to a string."""

    held: _Held
    said: ModelString
    left: int
    released: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Growth:
    """A string that grows."""

    growing: GrowingDocument
    pieces: deque[_Piece] = field(default_factory=deque)


class StreamGate:
    """Holds one stream.

    Args:
        clock: returns seconds.
        observe: called with the time that each event was held, in seconds.
        sent: called with each released event.
    """

    def __init__(
        self,
        judge: ReleaseCheckRun,
        surface: Surface,
        *,
        clock: Callable[[], float],
        observe: Callable[[float], None],
        sent: Callable[[Any], None] = lambda _: None,
    ) -> None:
        self._judge = judge
        self._surface = surface
        self._clock = clock
        self._observe = observe
        self._sent = sent
        self._line: deque[_Held] = deque()
        self._growths: dict[Channel, _Growth] = {}
        self._tools: dict[Channel, str] = {}
        self._answered: set[Channel] = set()  # channels with text of the answer
        self._forced_at = 0.0
        self._model_text = ModelText()
        self.blocked: AnswerWithheld | None = None
        """The failed check, after which no more is released; None while all pass."""

    @property
    def deadline(self) -> float | None:
        """Time by the clock when `force` is to be called; None if the queue is empty."""
        if not self._line:
            return None
        return max(self._line[0].arrived, self._forced_at) + self._judge.settings.max_hold_s

    @property
    def model_text(self) -> list[str]:
        """Strings that the model has written, including text that the client did not get."""
        return self._model_text.texts()

    def check(self) -> None:
        """Return if all checks have passed; raise otherwise.

        Raises:
            AnswerWithheld: a check failed.
        """
        if self.blocked is not None:
            raise self.blocked

    def feed(self, framed: bytes) -> bytes:
        """Return the events that can be released after these."""

        def take() -> None:
            for each in framed.split(b"\n\n"):
                if each:
                    self._take(each + b"\n\n")
            for growth in self._growths.values():
                if growth.growing.held > self._judge.settings.max_hold_chars:
                    self._distribute(growth, growth.growing.force())

        return self._after(take)

    def _take(self, framed: bytes) -> None:
        event = _event_of(framed)
        held = _Held(framed, event, self._clock())
        self._line.append(held)
        if event is not None:
            added = self._surface.added(event)
            held.waiting = len(added.strings)
            may_part = held.waiting == 1 and "sequence_number" not in event  # each number belongs to one event
            for said in added.strings:
                self._model_text.add(said)
                if self._judge.wants_document and said.is_answer:
                    self._answered.add(said.channel)
                piece = self._add(held, said)
                held.only = piece if may_part else None
            for prefix in added.ended:
                self._end(channel for channel in list(self._growths) if channel[: len(prefix)] == prefix)
                if self._judge.wants_document and len(prefix) < 2:
                    held.waiting += 1  # keeps the event that marks success
                    self._judge.ended(is_answered=any(each[: len(prefix)] == prefix for each in self._answered))
                    held.waiting -= 1

    def force(self) -> bytes:
        """Return events that were held for too long. The answer is withheld if a check needs more text."""
        self._forced_at = self._clock()

        def force() -> None:
            for growth in self._growths.values():
                if growth.pieces:
                    self._distribute(growth, growth.growing.force())

        return self._after(force)

    def flush(self) -> bytes:
        """Return the rest of the events, at the end of the stream."""
        return self._after(lambda: self._end(list(self._growths)))

    def _after(self, judge: Callable[[], None]) -> bytes:
        if self.blocked is None:
            try:
                judge()
            except AnswerWithheld as blocked:
                self.blocked = blocked
        return self._released()

    def _add(self, held: _Held, said: ModelString) -> _Piece | None:
        text, tool = said.text, said.channel[:-1]
        if said.channel[-1] == "name":
            self._tools[tool] = (self._tools.get(tool, "") + text)[:_NAMES_LENGTH]
        if said.is_whole:
            self._put(held, said, self._judge.whole(text, said.voice, tool=self._tools.get(tool)))
            return None
        growth = self._growths.get(said.channel)
        if growth is None:
            # A new string ends the earlier ones of its choice, except that a tool's name does not end its arguments.
            is_name = said.channel[-1] == "name"
            before = [other for other in self._growths if other[:1] == said.channel[:1]]
            self._end([other for other in before if not (is_name and other[:-1] == tool)])
            growth = self._growths[said.channel] = _Growth(
                self._judge.growing(said.voice, tool=lambda: self._tools.get(tool))
            )
        piece = _Piece(held, said, len(text))
        growth.pieces.append(piece)
        self._distribute(growth, growth.growing.feed(text))
        return piece

    def _end(self, channels: Iterable[Channel]) -> None:
        for channel in channels:
            growth = self._growths[channel]
            self._distribute(growth, growth.growing.flush())

    def _distribute(self, growth: _Growth, units: Iterable[Unit]) -> None:
        """Distribute judged text to the events that brought it."""
        for came, released in units:
            position, replaced = 0, released if released != came else None
            while position < len(came):
                piece = growth.pieces[0]
                if replaced is not None:
                    self._judge.may_change(piece.said)
                taken = min(piece.left, len(came) - position)
                piece.released.append(came[position : position + taken] if replaced is None else replaced)
                replaced = None if replaced is None else ""
                piece.left -= taken
                position += taken
                if not piece.left:
                    growth.pieces.popleft()
                    self._put(piece.held, piece.said, "".join(piece.released))

    def _put(self, held: _Held, said: ModelString, released: str) -> None:
        if released != said.text:
            self._judge.may_change(said)
            said.put(released)
            held.is_changed = held.is_masked = True
        held.waiting -= 1

    def _released(self) -> bytes:
        out: list[bytes] = []
        now = self._clock()
        while self._line and not self._line[0].waiting:
            held = self._line.popleft()
            self._observe(now - held.arrived)
            if held.event is not None:
                self._sent(held.event)
            out.append(_framed(held) if held.is_changed else held.raw)
        if self._line and (piece := self._line[0].only) is not None and not all(map(str.isspace, piece.released)):
            self._sent(self._line[0].event)
            out.append(self._parted(self._line[0], piece))
        return b"".join(out)

    def _parted(self, held: _Held, piece: _Piece) -> bytes:
        """Return the judged part of an event as an event; the event keeps the rest."""
        text, part = piece.said.text, "".join(piece.released)
        judged = text[: len(text) - piece.left]
        first = _framed(_Held(held.raw, _with(piece.said, part, held.event), held.arrived, is_masked=True))
        piece.said.put(text[len(judged) :])
        piece.released.clear()
        held.is_changed, held.is_masked = True, held.is_masked or part != judged
        return first


def _event_of(framed: bytes) -> Any:
    """Return the object in an event's data; None without one."""
    for line in framed.split(b"\n"):
        if line.startswith(b"data: {"):
            return orjson.loads(line[6:])
    return None


def _with(said: ModelString, text: str, event: Any) -> Any:
    """Return a copy of an event in which a string is `text`."""
    before = said.text
    said.put(text)
    copy = orjson.loads(orjson.dumps(event))
    said.put(before)
    return copy


def _framed(held: _Held) -> bytes:
    data = b"data: " + orjson.dumps(without(held.event, Surface.spelled_out) if held.is_masked else held.event)
    return b"\n".join(data if line.startswith(b"data: ") else line for line in held.raw.split(b"\n"))
