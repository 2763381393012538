"""A surface: one API as clients and upstreams speak it.

What a request means is told here and nowhere else: which of its strings are prose, which of its objects are content
parts, what begins a conversation, how an answer is restored, how an error is said. Everything is pure.

    surface = SURFACES["/v1/chat/completions"]
    surface.check(body)
    surface.whole(answer, restoration)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from sovctl.gateway.errors import Code, Refused, error_body
from sovctl.gateway.leaves import Path
from sovctl.gateway.obstacles import Obstacle
from sovctl.gateway.restore import RestoreCounts


@dataclass(frozen=True, slots=True)
class Restoration:
    """What an answer is restored with."""

    issued: Mapping[str, str]
    """Canonical token -> the text it stands for; empty when raw text was sent."""
    model: str
    """What the client called the model."""
    counts: RestoreCounts


class EventStream(Protocol):
    """Restores a streamed answer, event by event."""

    is_finished: bool
    """The upstream said that the answer is whole."""

    def feed(self, data: bytes) -> list[bytes]:
        """Framed events that stand for one event's data, in order; mostly one.

        Raises:
            UpstreamFailed: it is an error, or no event of this surface.
        """

    def last(self) -> list[bytes]:
        """Framed events that end the stream; sent when the record of the answer is durable."""


class Surface:
    """One surface; subclasses say what is their own."""

    name: ClassVar[str]
    """For audit, metrics and settings, such as `chat.completions`."""
    path: ClassVar[str]
    """Where upstreams serve it, below `/v1`."""
    parts: ClassVar[Mapping[str, Obstacle | None]] = {}
    """Types of content parts: None for text, else why it can't be inspected. A type that is missing is unknown."""
    dropped: ClassVar[Collection[str]] = frozenset()
    """Top-level fields about the end user or for a provider's bookkeeping; a cloud needs none of them to answer."""

    def check(self, body: Mapping[str, Any]) -> None:
        """Return when `body` is a request of this surface.

        Raises:
            Refused: it is not.
        """
        if not isinstance(body.get("model"), str):
            raise Refused(Code.INVALID_REQUEST)

    def is_stream(self, body: Mapping[str, Any]) -> bool:
        """True when the client asks for a stream."""
        return body.get("stream") is True

    def prose(self, path: Path) -> Path | None:
        """Strings with equal prose paths are read together as one text in one language; None for what is no prose."""
        raise NotImplementedError

    def is_part(self, path: Path) -> bool:
        """True when the object at `path` is a content part."""
        raise NotImplementedError

    def is_person(self, path: Path, body: Mapping[str, Any]) -> bool:
        """True when the string at `path` is the name of somebody who speaks."""
        raise NotImplementedError

    def beginning(self, body: Mapping[str, Any]) -> list[Any]:
        """How the conversation began: what later turns repeat."""
        raise NotImplementedError

    def max_answer_tokens(self, body: Mapping[str, Any]) -> int:
        """How long an answer the client asks for; 0 when it doesn't say."""
        asked = body.get("max_tokens")
        return asked if isinstance(asked, int) and asked > 0 else 0

    def whole(self, answer: Any, restoration: Restoration) -> dict[str, Any]:
        """An answer that is not streamed, restored.

        Raises:
            UpstreamFailed: it is no answer of this surface.
        """
        raise NotImplementedError

    def stream(self, restoration: Restoration) -> EventStream:
        """What restores a streamed answer."""
        raise NotImplementedError

    def error(self, code: Code, *, request_id: str) -> bytes:
        """The body of an error."""
        return error_body(code, request_id=request_id)

    def error_event(self, code: Code, *, request_id: str) -> bytes:
        """An error in the middle of a stream, framed."""
        return b"data: " + error_body(code, request_id=request_id) + b"\n\n"
