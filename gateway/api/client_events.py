"""Events of a client in a realtime session: three types with known fields; others are refused.

    read_event('{"type": "session.update", "model": "scribe"}')            # SelectModel("scribe")
    read_event('{"type": "input_audio_buffer.append", "audio": "AAAA..."}')  # Append(pcm)
    read_event('{"type": "input_audio_buffer.commit", "final": true}')      # Commit(is_final=True)

Source: vLLM 0.32.0, entrypoints/speech_to_text/realtime/protocol.py (read 2026-11).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from ..domain.errors import Code, Refused

_SAMPLE_BYTES = 2
_MAX_MODEL = 256  # characters


class SelectModel(NamedTuple):
    """`session.update`: the route of the following utterances."""

    model: str


class Append(NamedTuple):
    """`input_audio_buffer.append`: audio of the utterance."""

    pcm: bytes


class Commit(NamedTuple):
    """`input_audio_buffer.commit`: begins an utterance, or ends it if it is final."""

    is_final: bool


ClientEvent = SelectModel | Append | Commit


def read_event(message: Mapping[str, Any]) -> ClientEvent:
    """Return the event of an ASGI message.

    Raises:
        Refused: it is not an event of a client.
    """
    text = message.get("text")
    if text is None:
        raise Refused(Code.INVALID_EVENT)  # a binary message
    try:
        event = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise Refused(Code.INVALID_EVENT) from None
    kind = event.get("type") if isinstance(event, dict) else None
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise Refused(Code.INVALID_EVENT, param="type")
    del event["type"]
    return read(event)


def _select_model(event: dict[str, Any]) -> SelectModel:
    model = event.pop("model", None)
    if not isinstance(model, str) or not 0 < len(model) <= _MAX_MODEL:
        raise Refused(Code.INVALID_EVENT, param="model")
    _require_no_more(event)
    return SelectModel(model)


def _append(event: dict[str, Any]) -> Append:
    audio = event.pop("audio", None)
    _require_no_more(event)
    try:
        pcm = base64.b64decode(audio, validate=True) if isinstance(audio, str) else b""
    except (binascii.Error, ValueError):
        pcm = b""
    if not pcm or len(pcm) % _SAMPLE_BYTES:
        raise Refused(Code.INVALID_EVENT, param="audio")
    return Append(pcm)


def _commit(event: dict[str, Any]) -> Commit:
    is_final = event.pop("final", False)
    if not isinstance(is_final, bool):
        raise Refused(Code.INVALID_EVENT, param="final")
    _require_no_more(event)
    return Commit(is_final)


def _require_no_more(event: dict[str, Any]) -> None:
    if event:
        raise Refused(Code.INVALID_EVENT)


_READERS: Mapping[str, Callable[[dict[str, Any]], ClientEvent]] = {
    "session.update": _select_model,
    "input_audio_buffer.append": _append,
    "input_audio_buffer.commit": _commit,
}
