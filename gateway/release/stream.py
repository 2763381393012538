"""Holds a stream back until its sentences have passed. Events stay whole and in order; only their text may be masked.

Every event waits in one line until all text in it is judged; what is not text (a finish reason, usage) waits behind the
text before it. Text is judged sentence by sentence, each string of the answer for itself; the end of a string is where
the API says so, where its choice begins another one, or the end of the stream. A JSON document is judged when it is
whole. What waits is bounded in characters and seconds: then what has come so far is judged as it is, but for a few
characters in which an identifier may have begun; where a check needs whole sentences or documents, the answer is
blocked.

    gate = StreamGate(judge, surface, clock=time.monotonic)
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
from ..surfaces.answers.model_strings import Channel, ModelString
from .judge import Growing, ReleaseCheckRun, Unit
from .model_text import ModelText
from .verdict import AnswerWithheld
from .whole import without

_NAMES_LENGTH = 200  # characters of a tool's name


@dataclass(slots=True)
class _Held:
    """An event that waits."""

    raw: bytes
    event: Any
    arrived: float
    waiting: int = 0
    """Strings in it that are not judged yet."""
    only: _Piece | None = None
    """What it added, when that is all it holds."""
    is_changed: bool = False
    is_masked: bool = False


@dataclass(slots=True)
class _Piece:
    """What one event added to a string."""

    held: _Held
    said: ModelString
    left: int
    released: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Growth:
    """A string that grows."""

    growing: Growing
    pieces: deque[_Piece] = field(default_factory=deque)


class StreamGate:
    """Holds one stream.

    Args:
        observe: told how long each event waited, in seconds.
        sent: told of each event that may go.
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
        self._answered: set[Channel] = set()  # channels that said what a client waits for
        self._forced_at = 0.0
        self._heard = ModelText()
        self.blocked: AnswerWithheld | None = None
        """Why nothing more of the answer may go; what had passed before goes first."""

    @property
    def deadline(self) -> float | None:
        """When `force` is to be called, by the clock; None when nothing waits."""
        if not self._line:
            return None
        return max(self._line[0].arrived, self._forced_at) + self._judge.settings.max_hold_s

    @property
    def heard(self) -> list[str]:
        """What the model said so far, string by string; what the client did not get included."""
        return self._heard.texts()

    def check(self) -> None:
        """Return when more may go.

        Raises:
            AnswerWithheld: nothing may.
        """
        if self.blocked is not None:
            raise self.blocked

    def feed(self, framed: bytes) -> bytes:
        """Events that may go now, once some more have come."""

        def take() -> None:
            for each in framed.split(b"\n\n"):
                if each:
                    self._take(each + b"\n\n")
            for growth in self._growths.values():
                if growth.growing.held > self._judge.settings.max_hold_chars:
                    self._settle(growth, growth.growing.force())

        return self._after(take)

    def _take(self, framed: bytes) -> None:
        event = _event_of(framed)
        held = _Held(framed, event, self._clock())
        self._line.append(held)
        if event is not None:
            added = self._surface.added(event)
            held.waiting = len(added.strings)
            may_part = held.waiting == 1 and "sequence_number" not in event  # a number stands for one event
            for said in added.strings:
                self._heard.add(said)
                if self._judge.wants_document and said.is_answer:
                    self._answered.add(said.channel)
                piece = self._add(held, said)
                held.only = piece if may_part else None
            for prefix in added.ended:
                self._end(channel for channel in list(self._growths) if channel[: len(prefix)] == prefix)
                if self._judge.wants_document and len(prefix) < 2:
                    held.waiting += 1  # it says that all is well
                    self._judge.ended(is_answered=any(each[: len(prefix)] == prefix for each in self._answered))
                    held.waiting -= 1

    def force(self) -> bytes:
        """What may go because it has waited for too long; where a check needs what has not come, all is blocked."""
        self._forced_at = self._clock()

        def force() -> None:
            for growth in self._growths.values():
                if growth.pieces:
                    self._settle(growth, growth.growing.force())

        return self._after(force)

    def flush(self) -> bytes:
        """The end of the stream: all that waits."""
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
            # A string that begins ends those before it, of its choice; but a tool's name not its arguments.
            is_name = said.channel[-1] == "name"
            before = [other for other in self._growths if other[:1] == said.channel[:1]]
            self._end([other for other in before if not (is_name and other[:-1] == tool)])
            growth = self._growths[said.channel] = _Growth(
                self._judge.growing(said.voice, tool=lambda: self._tools.get(tool))
            )
        piece = _Piece(held, said, len(text))
        growth.pieces.append(piece)
        self._settle(growth, growth.growing.feed(text))
        return piece

    def _end(self, channels: Iterable[Channel]) -> None:
        for channel in channels:
            growth = self._growths[channel]
            self._settle(growth, growth.growing.flush())

    def _settle(self, growth: _Growth, units: Iterable[Unit]) -> None:
        """Give judged text back to the events that it came with."""
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
            out.append(_framed_anew(held) if held.is_changed else held.raw)
        if self._line and (piece := self._line[0].only) is not None and not all(map(str.isspace, piece.released)):
            self._sent(self._line[0].event)
            out.append(self._parted(self._line[0], piece))
        return b"".join(out)

    def _parted(self, held: _Held, piece: _Piece) -> bytes:
        """The judged part of an event as one of its own; the event keeps the rest."""
        text, part = piece.said.text, "".join(piece.released)
        judged = text[: len(text) - piece.left]
        first = _framed_anew(_Held(held.raw, _with(piece.said, part, held.event), held.arrived, is_masked=True))
        piece.said.put(text[len(judged) :])
        piece.released.clear()
        held.is_changed, held.is_masked = True, held.is_masked or part != judged
        return first


def _event_of(framed: bytes) -> Any:
    """The object in an event's data; None when there is none."""
    for line in framed.split(b"\n"):
        if line.startswith(b"data: {"):
            return orjson.loads(line[6:])
    return None


def _with(said: ModelString, text: str, event: Any) -> Any:
    """A copy of an event in which a string says `text`."""
    before = said.text
    said.put(text)
    copy = orjson.loads(orjson.dumps(event))
    said.put(before)
    return copy


def _framed_anew(held: _Held) -> bytes:
    data = b"data: " + orjson.dumps(without(held.event, Surface.spelled_out) if held.is_masked else held.event)
    return b"\n".join(data if line.startswith(b"data: ") else line for line in held.raw.split(b"\n"))
