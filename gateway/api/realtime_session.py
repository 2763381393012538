"""One session of realtime transcription: events of a client in, checked transcriptions out.

Every utterance is one request of the pipeline, with its own id, quota, audit records and release checks; the credential
of the session is checked again for each. Two tasks serve a session: one reads and validates events into a bounded
queue, the other runs the utterances in order.

| end of a session | close code (RFC 6455, 7.4.1) |
|---|---|
| invalid event, too much audio, invalid credential, maximum duration, no event in time | 1008 |
| the gateway stops; the audio of the open utterance ends then, and its text is sent before | 1012 |
| the client does not read, or has left | none |
| internal error | 1011 |
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.utils import ClientDisconnected

from ..access.principal import Principal
from ..domain.errors import Code, Refused
from ..http.upgrade import ABORT, STOPPING
from ..pipeline.service import RequestHandler, new_request_id
from ..quota.fair_queue import FairQueue
from ..recordings.live import BYTES_PER_S, LiveRecording
from ..surfaces import SURFACES
from ..surfaces.realtime import error_message
from ..telemetry import log
from .client_events import Append, ClientEvent, Commit, SelectModel, read_event

SURFACE = SURFACES["/v1/realtime"]
_POLICY, _INTERNAL, _RESTART = 1008, 1011, 1012
_QUEUED = 8  # events, each of at most MAX_EVENT_BYTES
_EVENTS_PER_S, _BURST = 200.0, 1000  # ten times a client that sends 50 ms of audio at a time; guess, 2026-11
_FRAME, _END = b"data: ", b"\n\n"


class SessionOver(Exception):
    """The session ends.

    Args:
        close: code of the closing handshake.
        refused: the error that the client gets before it; None for none.
    """

    def __init__(self, close: int, refused: Refused | None = None) -> None:
        super().__init__(str(close))
        self.close, self.refused = close, refused


@dataclass(frozen=True, slots=True)
class SessionParts:
    """Components of the application that a session uses."""

    service: Callable[[], RequestHandler]
    """Returns the handler of requests under the current settings."""
    principal: Callable[[], Awaitable[Principal]]
    """Checks the credential again. Raises `Refused` if it is invalid now."""
    fair_queue: FairQueue
    write_timeout_s: Callable[[], float]


class RealtimeSession:
    """One session, after its handshake.

    Args:
        principal: the principal that opened it.
        session_id: names the session in the log, and its conversation in audit records.
    """

    def __init__(
        self, parts: SessionParts, principal: Principal, scope: Scope, receive: Receive, send: Send, session_id: str
    ) -> None:
        self._parts, self._principal, self._session_id = parts, principal, session_id
        self._receive, self._send_message = receive, send
        self._abort: Callable[[], None] = scope["state"][ABORT]
        self._stopping: asyncio.Event = scope["state"][STOPPING]
        self._events: asyncio.Queue[ClientEvent | SessionOver] = asyncio.Queue(_QUEUED)
        self._over: asyncio.Future[SessionOver] = asyncio.get_running_loop().create_future()
        self._live: LiveRecording | None = None
        self._model: str | None = None
        self._is_told = False  # audio outside an utterance was answered with an error
        self._utterances, self._last_reason = 0, ""
        self._main = asyncio.current_task()
        self._has_left = False

    async def run(self) -> None:
        """Serve until the session ends."""
        limits = self._parts.service().limits
        loop, began_s = asyncio.get_running_loop(), time.monotonic()
        expired = SessionOver(_POLICY, Refused(Code.SESSION_EXPIRED))
        timer = loop.call_later(limits.realtime.max_session_s, self._expire, expired)
        tasks = [
            asyncio.create_task(self._read(), name="events of a session"),
            asyncio.create_task(self._await_stop(), name="stop of a session"),
        ]
        over: SessionOver | None = None
        try:
            await self._send(orjson.dumps({"type": "session.created", "id": self._session_id, "created": _now()}))
            while True:
                await self._serve(await self._next())
        except SessionOver as error:
            over = error
        except asyncio.CancelledError:
            if not self._has_left:
                raise
        except Exception as error:  # noqa: BLE001 - its message may contain text, so only its location is logged
            log.event("internal error", level=40, error=error, request_id=self._session_id)
            over = SessionOver(_INTERNAL, Refused(Code.INTERNAL))
        finally:
            timer.cancel()
            for task in tasks:
                task.cancel()
            self._over.cancel()
            log.event(
                "realtime session ended",
                request_id=self._session_id,
                utterances=self._utterances,
                duration_s=round(time.monotonic() - began_s, 3),
                close=over.close if over is not None else None,
            )
        if over is not None:
            await self._close(over)

    async def _close(self, over: SessionOver) -> None:
        with contextlib.suppress(asyncio.CancelledError):  # the client has left
            if over.refused is not None and over.refused.code.value != self._last_reason:
                await self._tell(over.refused, self._session_id)
            await self._put({"type": "websocket.close", "code": over.close})

    # Reading.

    async def _read(self) -> None:
        """Put the client's events into the queue, until one is invalid or the client leaves."""
        limits = self._parts.service().limits
        most_bytes = min(limits.max_recording_bytes, limits.max_recording_s * BYTES_PER_S)
        rate, audio_bytes = _Rate(), 0
        while True:
            try:
                async with asyncio.timeout(limits.realtime.idle_timeout_s):
                    message = await self._receive()
            except TimeoutError:
                if self._live is not None and self._live.ended.is_set():
                    continue  # the client waits for a transcription
                await self._events.put(SessionOver(_POLICY, Refused(Code.SESSION_EXPIRED)))
                return
            if message["type"] != "websocket.receive":
                self._leave()
                return
            try:
                event = read_event(message)
                if isinstance(event, Append):
                    audio_bytes += len(event.pcm)
                    if audio_bytes > most_bytes:
                        raise Refused(Code.RECORDING_TOO_LONG, param="audio")
            except Refused as refused:
                await self._events.put(SessionOver(_POLICY, refused))
                return
            await self._events.put(event)
            await rate.wait()

    def _leave(self) -> None:
        self._has_left = True
        if self._main is not None:
            self._main.cancel()

    async def _await_stop(self) -> None:
        await self._stopping.wait()
        self._end(SessionOver(_RESTART))

    def _expire(self, over: SessionOver) -> None:
        self._end(over)
        if self._live is not None and over.refused is not None:
            self._live.fail(over.refused)

    def _end(self, over: SessionOver) -> None:
        if not self._over.done():
            self._over.set_result(over)

    async def _next(self) -> ClientEvent:
        """Return the next event.

        Raises:
            SessionOver: the session ends.
        """
        if self._events.empty() or self._over.done():
            getting = asyncio.create_task(self._events.get(), name="next event")
            try:
                waiting: set[asyncio.Future[Any]] = {getting, self._over}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if self._over.done():
                    raise self._over.result()
                event = getting.result()
            finally:
                getting.cancel()
        else:
            event = self._events.get_nowait()
        if isinstance(event, SessionOver):
            self._end(event)
            raise event
        return event

    # Serving.

    async def _serve(self, event: ClientEvent) -> None:
        """Serve one event outside an utterance."""
        match event:
            case SelectModel(model):
                self._model = model
            case Commit(is_final=False):
                if self._model is None:
                    raise SessionOver(_POLICY, Refused(Code.INVALID_EVENT, param="model"))
                await self._utterance(self._model)
            case _ if not self._is_told:
                self._is_told = True
                await self._tell(Refused(Code.INVALID_EVENT, param="type"), self._session_id)

    async def _utterance(self, model: str) -> None:
        """Transcribe one utterance."""
        service, request_id = self._parts.service(), new_request_id()
        live = self._live = service.live_recording()
        feeding = asyncio.create_task(self._feed(live), name="audio of the client")
        tenant, has_turn, reason, is_told = self._principal.tenant, False, "client-left", True
        service.metrics.in_flight.move(1)
        self._utterances += 1
        try:
            principal = await self._again()
            has_turn = await self._parts.fair_queue.take(
                tenant, service.limits, timeout_s=service.limits.queue_timeout_s
            )
            if not has_turn:
                raise Refused(Code.TENANT_BUSY)
            reason = await self._transcribe(service, principal, model, request_id, live)
        except Refused as refused:
            reason = refused.code.value
            service.metrics.refused.add(reason)
            log.event("refused", request_id=request_id, reason=reason, status=refused.status)
            await self._tell(refused, request_id)
        except SessionOver as over:
            reason = over.refused.code.value if over.refused is not None else reason
            is_told = False
            raise
        except Exception:
            reason = Code.INTERNAL.value
            raise
        finally:
            self._last_reason = reason if is_told else ""
            service.metrics.realtime_utterances.add(reason)
            service.metrics.in_flight.move(-1)
            if has_turn:
                self._parts.fair_queue.give_back(tenant, service.limits)
            feeding.cancel()
            await asyncio.wait({feeding})
            self._is_told = not live.ended.is_set()  # audio of an utterance that ended early still arrives
            self._live = None

    async def _again(self) -> Principal:
        """Return the principal of the session, whose credential is still valid.

        Raises:
            SessionOver: it is not, or is that of another principal now.
        """
        try:
            principal = await self._parts.principal()
        except Refused as refused:
            raise SessionOver(_POLICY, refused) from None
        before = self._principal
        if (principal.tenant, principal.name) != (before.tenant, before.name):
            raise SessionOver(_POLICY, Refused(Code.INVALID_API_KEY))
        if not principal.may_use_surface(SURFACE.family):
            raise SessionOver(_POLICY, Refused(Code.SURFACE_NOT_ALLOWED))
        return principal

    async def _feed(self, live: LiveRecording) -> None:
        """Pass the client's audio to the utterance."""
        try:
            while True:
                match await self._next():
                    case Append(pcm):
                        await live.put(pcm)
                    case Commit(is_final=True):
                        await live.end()
                        return
                    case SelectModel():
                        raise SessionOver(_POLICY, Refused(Code.INVALID_EVENT, param="type"))
        except SessionOver as over:
            self._end(over)
            if over.refused is not None:
                live.fail(over.refused)
            else:
                await live.end()

    async def _transcribe(
        self, service: RequestHandler, principal: Principal, model: str, request_id: str, live: LiveRecording
    ) -> str:
        """Send the checked events of an utterance, and return the reason of its end.

        Raises:
            Refused: it was not begun.
        """
        reply = await service.serve(
            SURFACE,
            principal,
            orjson.dumps({"model": model}),
            conversation_header=self._session_id,
            request_id=request_id,
            timeout_s=service.request_timeout_s,
            live=live,
        )
        stream = reply.content
        assert not isinstance(stream, bytes)
        try:
            async for piece in stream.pieces():
                for message in _messages(piece):
                    await self._send(message)
        finally:
            await stream.close()
        return stream.reason

    # Sending.

    async def _tell(self, refused: Refused, request_id: str) -> None:
        await self._send(error_message(refused.code, request_id=request_id, param=refused.param))

    async def _send(self, message: bytes) -> None:
        await self._put({"type": "websocket.send", "text": message.decode()})

    async def _put(self, message: dict[str, object]) -> None:
        """Send a message; abort the connection of a client that does not read.

        Raises:
            CancelledError: the client has left.
        """
        try:
            async with asyncio.timeout(self._parts.write_timeout_s()):
                await self._send_message(message)
        except TimeoutError:
            log.event("client stalled", level=30, request_id=self._session_id)
            self._abort()
        except ClientDisconnected:
            pass
        else:
            return
        self._has_left = True
        raise asyncio.CancelledError


class _Rate:
    """Slows down a client that sends events faster than `_EVENTS_PER_S`, after a burst."""

    def __init__(self) -> None:
        self._at_s, self._left = time.monotonic(), float(_BURST)

    async def wait(self) -> None:
        """Count an event, and wait if there were too many."""
        now_s = time.monotonic()
        self._left = min(_BURST, self._left + (now_s - self._at_s) * _EVENTS_PER_S) - 1
        self._at_s = now_s
        if self._left < 0:
            await asyncio.sleep(-self._left / _EVENTS_PER_S)


def _messages(piece: bytes) -> Iterator[bytes]:
    """Yield the events in framed server-sent events, for a WebSocket."""
    for framed in piece.split(_END):
        if framed:
            yield framed.removeprefix(_FRAME)


def _now() -> int:
    return int(time.time())
