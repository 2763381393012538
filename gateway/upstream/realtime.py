"""One utterance at a pool, over a WebSocket of its own, with the protocol of vLLM's `/v1/realtime`.

    answer = await open_utterance(upstream, b'{"type":"session.update","model":"big"}', audio, headers=None,
                                  deadline_s=None, attempts=attempts, max_event_bytes=1 << 20)
    async for chunk in answer.chunks(): ...     # events, each framed as a server-sent event
    answer.release()

- A new connection for each utterance: vLLM 0.32.0 discards audio that arrives while it ends the utterance before
  (connection.py, `_run_generation`), and a failed server then affects one utterance.
- No redirects, and no proxy of the environment.
- Audio is sent once. If the server fails after it was opened, the utterance ends.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from ..body.sse import event
from ..domain.errors import Refused, UpstreamFailed
from .answer import Attempts
from .server import Server
from .upstream import Upstream

_CREATED = "session.created"
_BEGIN = b'{"type":"input_audio_buffer.commit"}'
_END = b'{"type":"input_audio_buffer.commit","final":true}'
_OPENED = event(b'{"type":"transcription.delta","delta":""}')
"""First event of every answer: silence may have no other before the last one."""
_PING_S = 20.0  # default of websockets and uvicorn; ends a connection whose server stopped without closing it
_CLOSE_S = 1.0  # for the closing handshake
_QUEUE = 16  # unread events of the server; more pause the reading
_TOO_BIG = 1009  # RFC 6455, 7.4.1
_MISCONFIGURED = frozenset({401, 403, 404})


class Audio(Protocol):
    """Audio of an utterance while it arrives; see `recordings.live`."""

    ended: asyncio.Event
    failed: asyncio.Future[Refused]

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the audio, to its end."""


class _Connect(connect):
    """Connects to the given server only."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class UtteranceAnswer:
    """The answer to an utterance, and the task that sends its audio. The caller must call `release`.

    Args:
        silence_s: longest time without an event after the end of the audio, in seconds.
    """

    def __init__(
        self,
        socket: ClientConnection,
        server: Server,
        first: bytes,
        audio: Audio,
        attempts: Attempts,
        number: int,
        *,
        silence_s: float,
    ) -> None:
        self._socket, self._server, self._audio = socket, server, audio
        self._attempts, self._number, self._silence_s = attempts, number, silence_s
        self._is_blamed = self._is_released = False
        self._sending = asyncio.create_task(self._send(first), name="audio of an utterance")
        self._events = self._receive()
        self.note("101")

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield events, each framed as a server-sent event.

        Raises:
            UpstreamFailed: the server broke off, sent another type of message, or paused after the end of the audio.
            Refused: the utterance must end early.
        """
        return self._events

    async def pour(self, take: Callable[[bytes], bool]) -> bool:
        """Pass each event to `take` until that returns False. Return True after the last one.

        Raises:
            UpstreamFailed, Refused: as for `chunks`.
        """
        async for chunk in self._events:
            if not take(chunk):
                return False
        return True

    def finished(self) -> None:
        """Mark the answer as complete."""
        self._server.breaker.succeeded()

    def failed(self, cause: str) -> None:
        """Mark the answer as invalid; it counts as one failure of its server."""
        if not self._is_blamed:
            self._is_blamed = True
            self._server.failed()
            self.note(cause)

    def note(self, outcome: str) -> None:
        """Set the outcome of the attempt in the audit record."""
        self._attempts.end(self._number, outcome)

    def release(self) -> None:
        """Stop sending, and close the connection."""
        if not self._is_released:
            self._is_released = True
            self._sending.cancel()
            self._server.in_flight -= 1
            _close(self._socket)

    async def _send(self, first: bytes) -> None:
        try:
            await self._socket.send(first.decode())
            await self._socket.send(_BEGIN.decode())
            async for pcm in self._audio.chunks():
                audio = base64.b64encode(pcm).decode()
                await self._socket.send(orjson.dumps({"type": "input_audio_buffer.append", "audio": audio}).decode())
            await self._socket.send(_END.decode())
        except ConnectionClosed:
            pass  # `_receive` raises it

    async def _receive(self) -> AsyncIterator[bytes]:
        yield _OPENED
        while True:
            yield event(orjson.dumps(await self._next()))

    async def _next(self) -> object:
        """Return the next event.

        Raises:
            UpstreamFailed, Refused: as for `chunks`.
        """
        loop, audio = asyncio.get_running_loop(), self._audio
        receiving = asyncio.create_task(self._socket.recv(), name="events of an utterance")
        ending = asyncio.create_task(audio.ended.wait(), name="end of the audio")
        until_s: float | None = None
        try:
            while not receiving.done():
                if audio.failed.done():
                    raise audio.failed.result()
                if until_s is None and audio.ended.is_set():
                    until_s = loop.time() + self._silence_s
                left_s = None if until_s is None else until_s - loop.time()
                if left_s is not None and left_s <= 0:
                    raise self._failure("stalled")
                waiting: set[asyncio.Future[Any]] = (
                    {receiving, audio.failed} if ending.done() else {receiving, audio.failed, ending}
                )
                await asyncio.wait(waiting, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            return self._decoded(receiving.result())
        except ConnectionClosed as error:
            is_too_big = error.sent is not None and error.sent.code == _TOO_BIG
            raise self._failure("too-large" if is_too_big else "broken") from None
        finally:
            ending.cancel()
            receiving.cancel()

    def _decoded(self, message: str | bytes) -> object:
        try:
            if isinstance(message, str):
                return orjson.loads(message)
        except orjson.JSONDecodeError:
            pass
        raise self._failure("protocol")

    def _failure(self, cause: str) -> UpstreamFailed:
        self.failed(cause)
        return UpstreamFailed(cause)


async def open_utterance(
    upstream: Upstream,
    first: bytes,
    audio: Audio,
    *,
    headers: Mapping[str, str] | None,
    deadline_s: float | None,
    attempts: Attempts,
    max_event_bytes: int,
) -> UtteranceAnswer:
    """Connect to a server of a pool, each at most once, and begin an utterance there.

    Args:
        first: first event for the server.
        headers: of this request, in addition to those of every request.
        deadline_s: deadline for the connection, in event-loop time (seconds).
        attempts: receives every attempt.
        max_event_bytes: limit of an event of the server.

    Raises:
        UpstreamFailed: no server began a session. No audio was sent.
    """
    failure = UpstreamFailed("open")
    for number, server in upstream.admitting():
        attempt = attempts.begin(f"{upstream.name}/{number}")
        server.in_flight += 1
        socket: ClientConnection | None = None
        try:
            async with asyncio.timeout_at(deadline_s):
                socket = await _connected(server, upstream, headers, max_event_bytes=max_event_bytes)
                await _begun(socket, timeout_s=upstream.settings.first_byte_timeout_s)
        except (UpstreamFailed, TimeoutError) as error:
            failure = error if isinstance(error, UpstreamFailed) else UpstreamFailed("deadline")
            server.in_flight -= 1
            if socket is not None:
                _close(socket)
            attempts.end(attempt, failure.cause)
            if failure.cause == "deadline":
                break
            server.failed()
            server.refusal = failure.refusal
        except BaseException:
            server.in_flight -= 1
            if socket is not None:
                _close(socket)
            raise
        else:
            server.breaker.answered()
            server.refusal = ""
            silence_s = upstream.settings.first_byte_timeout_s
            return UtteranceAnswer(socket, server, first, audio, attempts, attempt, silence_s=silence_s)
    raise failure


async def _connected(
    server: Server, upstream: Upstream, headers: Mapping[str, str] | None, *, max_event_bytes: int
) -> ClientConnection:
    """Connect, with the client certificate and the credentials of the upstream.

    Raises:
        UpstreamFailed: the server does not answer, or rejects the handshake.
    """
    scheme = "wss" if server.address.tls is not None else "ws"
    try:
        return await _Connect(
            f"{scheme}://{server.address.target}{server.target('realtime')}",
            ssl=server.address.tls,
            additional_headers={**server.headers, **(headers or {})},
            user_agent_header=None,  # `headers` has one
            proxy=None,
            compression=None,
            open_timeout=upstream.settings.connect_timeout_s,
            ping_interval=_PING_S,
            ping_timeout=_PING_S,
            close_timeout=_CLOSE_S,
            max_size=max_event_bytes,
            max_queue=_QUEUE,
        )
    except InvalidStatus as error:
        status = error.response.status_code
        refusal = f"it answers the handshake of {server.target('realtime')} with {status}"
        raise UpstreamFailed(f"status-{status}", refusal=refusal if status in _MISCONFIGURED else "") from None
    except (InvalidHandshake, ConnectionClosed):
        raise UpstreamFailed("protocol") from None
    except ssl.SSLError:
        raise UpstreamFailed("tls") from None
    except (OSError, TimeoutError):
        raise UpstreamFailed("connect") from None


async def _begun(socket: ClientConnection, *, timeout_s: float) -> None:
    """Wait for the event with which a server begins a session.

    Raises:
        UpstreamFailed: it sent another one, or none in time.
    """
    try:
        async with asyncio.timeout(timeout_s):
            message = await socket.recv()
        created = orjson.loads(message)
    except TimeoutError:
        raise UpstreamFailed("timeout") from None
    except ConnectionClosed:
        raise UpstreamFailed("broken") from None
    except orjson.JSONDecodeError:
        raise UpstreamFailed("protocol") from None
    if not isinstance(created, dict) or created.get("type") != _CREATED:
        raise UpstreamFailed("protocol")


_CLOSING: set[asyncio.Task[None]] = set()


def _close(socket: ClientConnection) -> None:
    """Close a connection without waiting for it, within `_CLOSE_S` seconds."""
    task = asyncio.create_task(socket.close(), name="close of a WebSocket")
    _CLOSING.add(task)
    task.add_done_callback(_CLOSING.discard)
