"""A stand-in at the edge: a pool with the WebSocket protocol of vLLM 0.32.0 at `/v1/realtime`, without a model.

It was written after vLLM's source (entrypoints/speech_to_text/realtime); it was not compared with a running vLLM.
What it transcribes is set by a test in `script`.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from echo_upstream import EchoUpstream
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect


@dataclass
class Speech:
    """What the pool answers."""

    while_speaking: list[str] = field(default_factory=list)
    """Text sent after the first audio."""
    at_the_end: Callable[[int], list[str]] = lambda size: [f"Heard {size} ", "bytes."]
    """Text sent after the audio, whose size in bytes it gets."""
    ends_with: list[str | bytes] | None = None
    """Messages sent instead of the last event; an empty one closes the connection."""
    created: dict[str, Any] = field(default_factory=lambda: {"type": "session.created", "id": "sess-1", "created": 1})


@dataclass
class Utterance:
    """What the pool received on one connection."""

    headers: dict[str, str]
    events: list[dict[str, Any]] = field(default_factory=list)
    audio: bytes = b""
    is_over: bool = False


@dataclass
class RealtimePool(EchoUpstream):
    """Use as a context manager."""

    surfaces: ClassVar[tuple[str, ...]] = ("realtime",)
    ws: ClassVar[Literal["none", "websockets-sansio"]] = "websockets-sansio"

    speech: Speech = field(default_factory=Speech)
    utterances: list[Utterance] = field(default_factory=list)

    def forget(self) -> None:
        super().forget()
        self.speech = Speech()
        self.utterances.clear()

    def routes(self) -> list[Any]:
        return [*super().routes(), WebSocketRoute("/v1/realtime", self._realtime)]

    async def _realtime(self, socket: WebSocket) -> None:
        utterance = Utterance(dict(socket.headers))
        self.utterances.append(utterance)
        await socket.accept()
        await socket.send_text(json.dumps(self.speech.created))
        try:
            await self._serve(socket, utterance)
        except WebSocketDisconnect:
            pass
        finally:
            utterance.is_over = True

    async def _serve(self, socket: WebSocket, utterance: Utterance) -> None:
        text, is_begun = "", False
        speech = self.speech

        async def say(pieces: list[str]) -> None:
            nonlocal text
            for piece in pieces:
                text += piece
                await socket.send_text(json.dumps({"type": "transcription.delta", "delta": piece}))

        while True:
            event = json.loads(await socket.receive_text())
            utterance.events.append(event)
            if event["type"] == "input_audio_buffer.append":
                utterance.audio += base64.b64decode(event["audio"])
                if is_begun:
                    pieces, speech.while_speaking = speech.while_speaking, []
                    await say(pieces)
            elif event["type"] == "input_audio_buffer.commit" and not event.get("final"):
                is_begun = True
            elif event["type"] == "input_audio_buffer.commit":
                break
        await say(speech.at_the_end(len(utterance.audio)))
        if speech.ends_with is None:
            usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
            await socket.send_text(json.dumps({"type": "transcription.done", "text": text, "usage": usage}))
        for message in speech.ends_with or []:
            if isinstance(message, bytes):
                await socket.send_bytes(message)
            elif message:
                await socket.send_text(message)
            else:
                await socket.close(1011)
                return
        await asyncio.wait_for(socket.receive(), 30)
