"""Realtime transcription over a WebSocket, with the protocol of vLLM's `/v1/realtime`; it is not that of OpenAI.

One utterance is one request of this surface. Its body is `{"model": ...}`; the audio arrives while the answer is
streamed (`recordings.live`). A server-sent event in here carries one event of the protocol:

    {"type": "transcription.delta", "delta": "Good "}
    {"type": "transcription.done", "text": "Good morning.", "usage": {...}}
    {"type": "error", "error": "...", "code": "answer_withheld", "request_id": "..."}

Source: vLLM 0.32.0, entrypoints/speech_to_text/realtime (read 2026-11).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

import orjson

from ..body.json_texts import Path
from ..body.sse import event
from ..domain.errors import Code, UpstreamFailed, status_and_message
from ..domain.obstacles import Obstacle
from ..settings import SurfaceName
from .answers.answer_json import read_json
from .answers.fields import Fields
from .answers.model_strings import Added, Voice, model_strings
from .answers.restoration import Restoration
from .surface import EventStream, Surface

DELTA, DONE, ERROR = "transcription.delta", "transcription.done", "error"
_FIELDS = Fields(left_alone=frozenset({"type", "usage"}))
_CHANNEL = ("transcription",)
_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens")


class Realtime(Surface):
    """`GET /v1/realtime`: the utterances of a session."""

    name = "realtime"
    family = SurfaceName.REALTIME
    paths = ("/v1/realtime",)
    path = "realtime"
    media = ()
    has_text = False
    is_salted = False
    is_socket = True

    @property
    def is_judged(self) -> bool:
        return True

    def is_stream(self, _body: Mapping[str, Any]) -> bool:
        return True

    def write(
        self,
        _body: Mapping[str, Any],
        _raw: bytes,
        _headers: Mapping[str, str],
        *,
        model: str,
        cache_salt: str | None = None,  # noqa: ARG002 - not cached
    ) -> bytes:
        """Return the first event for a pool, which selects the model."""
        return orjson.dumps({"type": "session.update", "model": model})

    def prose(self, _path: Path) -> Path | None:
        return None

    def obstacles(self, _body: Mapping[str, Any]) -> Collection[Obstacle]:
        return {Obstacle.AUDIO}

    def beginning(self, _body: Mapping[str, Any]) -> list[Any]:
        return []

    def added(self, event: Mapping[str, Any]) -> Added:
        added = Added(list(model_strings(event, _FIELDS)))
        for said in added.strings:
            said.voice = Voice.ASIDE
            if said.place == "delta":
                said.channel, said.is_whole = _CHANNEL, False
        return added

    def stream(self, _restoration: Restoration) -> EventStream:
        return _Utterance()

    def error_event(self, code: Code, *, request_id: str) -> bytes:
        return event(error_message(code, request_id=request_id))


def error_message(code: Code, *, request_id: str, param: str | None = None) -> bytes:
    """Return an error event of the protocol.

    Args:
        param: the invalid field.
    """
    _, message = status_and_message(code, param)
    return orjson.dumps({"type": ERROR, "error": message, "code": code.value, "request_id": request_id})


class _Utterance:
    """Passes the two events of a transcription with their known fields; every other event ends the answer."""

    def __init__(self) -> None:
        self.is_finished = False
        self._heard = sha256()  # of the text so far, which the last event repeats
        self._last: list[bytes] = []

    def put(self, _event: bytes) -> None:
        return None

    def feed(self, data: bytes) -> list[bytes]:
        if self.is_finished:
            return []
        said = read_json(data)
        kind = said.get("type") if isinstance(said, dict) else None
        if kind == ERROR:
            raise UpstreamFailed("error-event")
        text = said.get("delta" if kind == DELTA else "text") if kind in (DELTA, DONE) else None
        if not isinstance(text, str):
            raise UpstreamFailed("protocol")
        if kind == DELTA:
            self._heard.update(text.encode())
            return [event(orjson.dumps({"type": DELTA, "delta": text}))]
        if sha256(text.encode()).digest() != self._heard.digest():
            raise UpstreamFailed("protocol")  # text that no delta had
        self.is_finished = True
        self._last = [event(orjson.dumps({"type": DONE, "text": text, "usage": _usage(said.get("usage"))}))]
        return []

    def last(self) -> list[bytes]:
        return self._last


def _usage(usage: Any) -> dict[str, int] | None:
    """Return the counts of tokens of an upstream; None if it reports others."""
    if not isinstance(usage, dict) or not all(type(usage.get(name)) is int for name in _USAGE):
        return None
    return {name: usage[name] for name in _USAGE}
