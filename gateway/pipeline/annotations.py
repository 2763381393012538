"""Citations of an answer to a request with sources: OpenAI's `annotations`, one for each source of a mark such as [1].

An annotation names document, version, page and offsets of the cited chunk. It has `quote`, and the offsets of the
quote, only if the answer quotes directly before the mark and the chunk contains the quote.

    annotate(answer, request.sources)                  # a complete answer, in place
    annotator = annotator_of(surface, request.sources)  # a stream: `feed` what is sent, then `ended`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import orjson

from ..body.sse import DONE, event
from ..domain.citations import MAX_CHARACTERS, find_quote
from ..release.citations import sources_of
from ..release.sentences import MARK
from ..settings import SurfaceName
from ..upstream.retrieval_service import Hit

_MAX_ANNOTATIONS = 100  # in a text; later marks get none
_MAX_CHARACTERS = 1 << 20  # of a streamed text that are read for marks
_OPENING = {'"': '"', "\u201d": "\u201c\u201e\u201d", "\u201c": "\u201e", "\u00bb": "\u00ab", "\u00ab": "\u00bb"}
"""Opening quotation marks by closing one: English, German, French, and German in books."""


def annotations_of(text: str, sources: Sequence[Hit]) -> list[dict[str, Any]]:
    """Return the annotations of a text, in the form of responses.

    Args:
        sources: chunks by their number, from 1. Marks of other numbers get no annotation.
    """
    found: list[dict[str, Any]] = []
    quote, before_end = "", -1
    for mark in MARK.finditer(text):
        if before_end < 0 or text[before_end : mark.start()].strip():  # else it cites the same words as the mark before
            quote = _quote_before(text, mark.start())
        before_end = mark.end()
        for name in sources_of(mark.group()):
            if len(found) == _MAX_ANNOTATIONS:
                return found
            if name.isascii() and name.isdigit() and 1 <= int(name) <= len(sources):
                found.append(_annotation(sources[int(name) - 1], mark.start(), quote))
    return found


def annotate(answer: Any, sources: Sequence[Hit]) -> None:
    """Add annotations to the messages of a complete answer of chat completions or responses."""
    for choice in _objects(answer.get("choices")):
        message = choice.get("message")
        if isinstance(message, dict) and isinstance(message.get("content"), str):
            message["annotations"] = [_nested(each) for each in annotations_of(message["content"], sources)]
    for item in _objects(answer.get("output")):
        for part in _objects(item.get("content")):
            if part.get("type") == "output_text" and isinstance(part.get("text"), str):
                part["annotations"] = annotations_of(part["text"], sources)


class StreamAnnotator(Protocol):
    """Adds annotations to a stream of one API."""

    def feed(self, events: bytes) -> None:
        """Read framed events that the client is sent."""

    def ended(self, last: bytes) -> bytes:
        """Return the last framed events of the stream, with the annotations."""


def annotator_of(family: SurfaceName, sources: Sequence[Hit]) -> StreamAnnotator:
    """Return the annotator of an API's streams."""
    return ResponseAnnotator(sources) if family is SurfaceName.RESPONSES else ChatAnnotator(sources)


class ResponseAnnotator:
    """Adds annotations to the response at the end of a stream of responses, which contains the whole text."""

    def __init__(self, sources: Sequence[Hit]) -> None:
        self._sources = sources

    def feed(self, events: bytes) -> None:
        """Nothing: the last event repeats all texts."""

    def ended(self, last: bytes) -> bytes:
        """See `StreamAnnotator`."""
        return b"\n".join(map(self._annotated, last.split(b"\n")))

    def _annotated(self, line: bytes) -> bytes:
        if not line.startswith(b"data: {"):
            return line
        decoded = orjson.loads(line[6:])
        if not isinstance(decoded.get("response"), dict):
            return line
        annotate(decoded["response"], self._sources)
        return b"data: " + orjson.dumps(decoded)


class ChatAnnotator:
    """Reads the events of chat completions, and adds an event with annotations before the end."""

    def __init__(self, sources: Sequence[Hit]) -> None:
        self._sources = sources
        self._texts: dict[int, list[str]] = {}
        self._left = _MAX_CHARACTERS
        self._frame: dict[str, Any] = {}

    def feed(self, events: bytes) -> None:
        """Read framed events."""
        for line in events.split(b"\n"):
            if not line.startswith(b"data: {"):
                continue
            decoded = orjson.loads(line[6:])
            if not isinstance(decoded.get("choices"), list):
                continue
            self._frame = {name: decoded[name] for name in _FRAME if name in decoded}
            for index, text in _added(decoded["choices"]):
                self._texts.setdefault(index, []).append(text[: max(0, self._left)])
                self._left -= len(text)

    def ended(self, last: bytes) -> bytes:
        """See `StreamAnnotator`."""
        text, done, end = last.rpartition(event(DONE))
        self.feed(text)
        return text + self._event() + done + end

    def _event(self) -> bytes:
        choices = []
        for index, texts in sorted(self._texts.items()):
            if made := annotations_of("".join(texts), self._sources):
                delta = {"annotations": [_nested(each) for each in made]}
                choices.append({"index": index, "delta": delta, "finish_reason": None})
        return event(orjson.dumps({**self._frame, "choices": choices})) if choices else b""


_FRAME = ("id", "object", "created", "model")


def _added(choices: Sequence[Any]) -> Iterator[tuple[int, str]]:
    for choice in choices:
        delta = choice.get("delta") if isinstance(choice, dict) else None
        if isinstance(delta, dict) and isinstance(delta.get("content"), str):
            yield choice.get("index", 0), delta["content"]


def _annotation(hit: Hit, index: int, quote: str) -> dict[str, Any]:
    cited: dict[str, Any] = {
        "type": "file_citation",
        "file_id": hit.document_id,
        "filename": hit.source_id,
        "index": index,
        "version": hit.version,
        "page": hit.page,
        "start": hit.start,
        "end": hit.end,
    }
    if quote and (place := find_quote(quote, hit.text)) is not None:
        cited |= {"start": hit.start + place[0], "end": hit.start + place[1], "quote": quote}
    return cited


def _nested(annotation: dict[str, Any]) -> dict[str, Any]:
    """Return an annotation in the form of chat completions (openai 3.52, `types/chat/chat_completion_message.py`)."""
    kind = annotation["type"]
    return {"type": kind, kind: {name: value for name, value in annotation.items() if name != "type"}}


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())


def _quote_before(text: str, end: int) -> str:
    """Return the words in quotation marks that end before a mark; empty without such words."""
    before = text[max(0, end - 2 * MAX_CHARACTERS) : end].rstrip(" \t\n.,;:")
    closing = before[-1:]
    if closing not in _OPENING:
        return ""
    start = max(before.rfind(opening, 0, len(before) - 1) for opening in _OPENING[closing])
    return before[start + 1 : -1] if start >= 0 else ""
