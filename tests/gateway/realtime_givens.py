"""What the tests of realtime transcription share: a client, audio, and events."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import threading
from collections.abc import Coroutine, Iterator
from functools import cache
from typing import Any, TypeVar

import pytest
from gateway_yaml import API_KEY
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

_Result = TypeVar("_Result")

ROUTE = "scribe"
COMMIT = {"type": "input_audio_buffer.commit"}
FINAL = {**COMMIT, "final": True}
MASK = {"identifiers": {"default": "mask"}}
SETTINGS: dict[str, Any] = {
    "routes": [{"model": ROUTE, "pool": "chat", "release": MASK}],
    "policy": {"default": "tokenize", "name_languages": ["en"]},
}
IBAN = "DE89 3704 0044 0532 0130 00"


def pcm(ms: int) -> bytes:
    """A sawtooth of so many milliseconds."""
    return bytes(range(256)) * (ms // 8)


def append(audio: bytes) -> dict[str, str]:
    return {"type": "input_audio_buffer.append", "audio": base64.b64encode(audio).decode()}


class Session:
    """A WebSocket of the real client, whose event loop runs in a thread of its own.

    The client for threads is not used: with TLS it reads and writes one connection in two threads, and 2 of 250
    handshakes did not arrive (websockets 17.4, CPython 3.11).
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    def send(self, message: str | bytes) -> None:
        _run(self._socket.send(message))

    def recv(self, timeout: float) -> str | bytes:
        return _run(asyncio.wait_for(self._socket.recv(), timeout))

    def abort(self) -> None:
        """Close the connection without the closing handshake."""
        _loop().call_soon_threadsafe(self._socket.transport.abort)

    @property
    def close_code(self) -> int | None:
        return self._socket.close_code


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


def _run(work: Coroutine[Any, Any, _Result]) -> _Result:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result(120)


@contextlib.contextmanager
def session(gateway: Any, key: str | None = API_KEY, **options: Any) -> Iterator[Session]:
    """A session, after the first event of the gateway."""
    headers = {"authorization": f"Bearer {key}"} if key is not None else {}
    headers |= options.pop("headers", {})
    uri = f"wss://127.0.0.1:{gateway.port}/v1/realtime"

    async def opened() -> ClientConnection:
        return await connect(
            uri, ssl=gateway.tls, additional_headers=headers, proxy=None, open_timeout=60, close_timeout=5, **options
        )

    socket = _run(opened())
    try:
        found = Session(socket)
        assert got(found)["type"] == "session.created"
        yield found
    finally:
        _run(socket.close())


def refused(gateway: Any, key: str | None = API_KEY, **options: Any) -> tuple[int, str]:
    """Status and code of a handshake that is refused."""
    with pytest.raises(InvalidStatus) as caught, session(gateway, key, **options):
        pass
    response = caught.value.response
    return response.status_code, json.loads(response.body)["error"]["code"]


def say(socket: Session, *events: dict[str, Any]) -> None:
    for event in events:
        socket.send(json.dumps(event))


def got(socket: Session) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(socket.recv(timeout=30))
    return event


def begin(socket: Session, model: str = ROUTE) -> None:
    say(socket, {"type": "session.update", "model": model}, COMMIT)


def heard(socket: Session) -> list[dict[str, Any]]:
    """Events to the end of the utterance, without empty deltas."""
    events = [got(socket)]
    while events[-1]["type"] == "transcription.delta":
        events.append(got(socket))
    return [event for event in events if event.get("delta") != ""]


def transcribe(socket: Session, audio: bytes, model: str = ROUTE) -> list[dict[str, Any]]:
    """Events of one utterance."""
    begin(socket, model)
    step = 3200
    say(socket, *(append(audio[at : at + step]) for at in range(0, len(audio), step)), FINAL)
    return heard(socket)


def ended(socket: Session) -> tuple[str, int | None]:
    """Code of the last error, and of the close."""
    code = ""
    with contextlib.suppress(ConnectionClosed):
        while True:
            event = got(socket)
            code = event.get("code", code)
    return code, socket.close_code
