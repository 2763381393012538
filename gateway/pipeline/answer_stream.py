"""A streamed answer on its way: values put back, held until it has passed, recorded before its end is sent.

Where nothing is checked before its release, events go from the upstream's connection to the client's the moment they
come; the task of the request wakes for the end, for trouble, and when the client reads more slowly than the model
writes. What is held back for good ends the stream with what the client gets instead; see `surfaces.handed_over`. Until
its first event is there, nothing was promised to the client, and another upstream may still take over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING

import orjson

from ..body.sse import EventTooLarge
from ..domain.errors import Code, Refused, UpstreamFailed
from ..exchange.sent import Exchange
from ..http.client_body import ClientBody
from ..quota.need import usage_in
from ..release.gated import gated
from ..release.stream import Gate
from ..release.verdict import Blocked
from ..surfaces.handed_over import ReplacementAnswer
from ..telemetry import log
from ..upstream import Answer
from .restored_events import RestoredEvents

if TYPE_CHECKING:
    from .delivery import Delivery

# How an answer ended, as its record says.
ANSWERED = "answered"
CLIENT_LEFT = "client-left"
HANDED_OVER = "handed_over"

# Pieces. A call costs as much as hashing 0.4 KiB; from 2 KiB on hashlib lets other threads run meanwhile, for whom
# we would have to wait (CPython 3.11, HASHLIB_GIL_MINSIZE).
_HASHED_TOGETHER = 8
_NO_ANSWER = (EventTooLarge, UpstreamFailed)


class AnswerStream:
    """An answer that is being streamed. `close` must be called, whether it was read to its end or not."""

    def __init__(self, delivery: Delivery, exchange: Exchange, answer: Answer) -> None:
        self._delivery = delivery
        self._exchange = exchange
        self._answer = answer
        self._events = exchange.request.surface.stream(exchange.restoration(delivery.bounds))
        self._restored = RestoredEvents(
            self._events,
            max_event_bytes=delivery.max_event_bytes,
            is_left_out=self._is_usage_alone if exchange.reservation.accounts else None,
        )
        self._hasher = delivery.audit.hasher()
        self._sent: list[bytes] = []  # and not hashed yet
        self._sent_at = 0.0
        self._ending = (
            exchange.request.surface.ending(exchange.body) if exchange.request.release_checks is not None else None
        )
        self._gate = self._new_gate()
        self._gated = gated(self._gate, self._pieces()) if self._gate is not None else None
        self._body: ClientBody | None = None  # who gets events the moment they come
        self._waiting = b""  # events for who reads this stream
        self._trouble: Exception | None = None
        self._first = b""
        self.instead: ReplacementAnswer | None = None
        """What the client gets when nothing of the answer goes out."""
        self.is_over = False
        """What `pieces` gave out last is the end of what the client gets."""
        self._is_recorded = False
        self._reason = ""
        self._began_ns = time.time_ns() if exchange.request.trace is not None else 0
        self._inter_token_s = delivery.metrics.inter_token_s.at(
            exchange.request.surface.name, exchange.request.route.model
        )

    async def begin(self) -> None:
        """Wait for the first event.

        Raises:
            UpstreamFailed: there is none.
            Blocked: it may not go, and nothing went before it.
        """
        try:
            async with asyncio.timeout_at(self._exchange.request.deadline_s):
                self._first = await self._next()
        except TimeoutError:
            self._answer.note("deadline")
            raise UpstreamFailed("deadline") from None
        if not self._first:
            raise UpstreamFailed("empty")

    @property
    def heard(self) -> list[str]:
        """What the model said so far."""
        return self._gate.heard if self._gate is not None else []

    async def pieces(self, body: ClientBody | None = None) -> AsyncIterator[bytes]:
        """Framed events, to the answer's end or to what stands in its place.

        Args:
            body: where events may go without being given out here, between two that are.
        """
        exchange = self._exchange
        try:
            try:
                if self.instead is None:
                    self._sent.append(self._first)
                    yield self._first
                    self._sent_at = time.perf_counter()
                    self._body = body
                    while piece := await self._next():
                        self._note(piece)
                        yield piece
                    last = b"".join(self._events.last())
                    if (gate := self._gate) is not None:
                        last = gate.feed(last) + gate.flush()
                        if gate.blocked is not None:
                            yield last
                        gate.check()
                    await self._end(ANSWERED)
                    self.is_over = True
                    yield last
                    return
            except Blocked as blocked:
                log.event("stream held back", level=30, reason=str(blocked), request_id=exchange.request.request_id)
                self.instead = await self._delivery.held_back(exchange, blocked, self.heard)
            assert self._ending is not None
            last = b"".join(self._ending.events(self.instead))
            self._sent.append(last)
            await self._end(HANDED_OVER)
            self.is_over = True
            yield last
        except (UpstreamFailed, Refused) as error:
            code = error.code if isinstance(error, Refused) else Code.UPSTREAM_FAILED
            log.event("stream broke off", level=30, reason=str(error), request_id=exchange.request.request_id)
            yield self._broken(code)
        except Exception as error:  # noqa: BLE001 - the head is out, so this is its last door; see `app`
            log.event("our mistake", level=40, error=error, request_id=exchange.request.request_id)
            yield self._broken(Code.INTERNAL)

    def _broken(self, code: Code) -> bytes:
        """The event with which the stream ends."""
        self._record(code.value)
        self.is_over = True
        return self._exchange.request.surface.error_event(code, request_id=self._exchange.request.request_id)

    async def _end(self, reason: str) -> None:
        self._is_recorded = True  # or refused: not twice in any case
        self._reason = reason
        await self._delivery.ended(self._exchange, reason, self._digest())

    async def close(self) -> None:
        """Let go of the upstream, and see to it that the end is recorded."""
        exchange = self._exchange
        self._answer.release()
        exchange.settle()
        self._record(CLIENT_LEFT)
        if (trace := exchange.request.trace) is not None:
            if exchange.judge is not None:
                trace.past("release", self._began_ns, {"verdict": exchange.judge.verdicts.worst.value})
            tokens = len(exchange.issued)
            exchange.request.end_trace(status=200, reason=self._reason, upstream=exchange.upstream, tokens=tokens)
        if self._gated is not None:
            await self._gated.aclose()

    def _record(self, reason: str) -> None:
        if not self._is_recorded:
            self._reason = reason
            self._is_recorded = True
            self._delivery.end_in_background(self._exchange, reason, self._digest())

    def _note(self, piece: bytes) -> None:
        """A piece is about to go to the client."""
        now = time.perf_counter()
        self._inter_token_s.observe(now - self._sent_at)
        self._sent_at = now
        self._sent.append(piece)
        if len(self._sent) >= _HASHED_TOGETHER:
            self._hash()

    def _hash(self) -> None:
        self._hasher.update(b"".join(self._sent))
        self._sent.clear()

    def _digest(self) -> str:
        self._hash()
        return self._hasher.hexdigest()

    def _is_usage_alone(self, data: bytes) -> bool:
        """Note what an event says about use; True when it says nothing else, and the client did not ask for it."""
        try:
            told = orjson.loads(data)
        except orjson.JSONDecodeError:
            return False  # whoever restores it will say so
        exchange = self._exchange
        if (said := usage_in(told)) is None:
            return False
        exchange.usage = said if exchange.usage is None else exchange.usage.later(said)
        return exchange.planned.inspected.admitted.hides_usage and not told.get("choices")

    def _new_gate(self) -> Gate | None:
        judge = self._exchange.new_judge()
        if judge is None:
            return None
        observe = self._delivery.metrics.release_hold_s.at(self._exchange.request.route.model).observe
        sent = self._ending.sent if self._ending is not None else lambda _: None
        return Gate(judge, self._exchange.request.surface, clock=time.monotonic, observe=observe, sent=sent)

    async def _next(self) -> bytes:
        """Events for who reads this stream; empty when there are no more but those that end it.

        Raises:
            UpstreamFailed: it broke off, or is no answer.
            Blocked: as `gated` says.
        """
        if self._gated is not None:
            return await anext(self._gated, b"")
        while not self._waiting:
            if self._events.is_finished:
                self._answer.finished()
                return b""
            is_whole = await self._answer.pour(self._take)
            if self._trouble is not None:
                raise self._trouble
            if is_whole and not self._events.is_finished:
                raise self._failed(UpstreamFailed("broken"))  # it ended without saying so
        waiting, self._waiting = self._waiting, b""
        return waiting

    def _take(self, data: bytes) -> bool:
        """Pass on what came from the upstream; False when somebody has to wake for it."""
        try:
            if restored := self._restored.feed(data):
                if self._body is None or not self._body.write(restored):
                    self._waiting = restored
                    return False
                self._note(restored)
        except Exception as error:  # noqa: BLE001 - raised again by who waits for it
            self._trouble = self._failed(error) if isinstance(error, _NO_ANSWER) else error
            return False
        return not self._events.is_finished

    async def _pieces(self) -> AsyncGenerator[bytes]:
        """Restored events for a gate, without those that end the stream."""
        async for data in self._answer.chunks():
            try:
                restored = self._restored.feed(data)
            except _NO_ANSWER as error:
                raise self._failed(error) from None
            if restored:
                yield restored
            if self._events.is_finished:
                self._answer.finished()
                return
        raise self._failed(UpstreamFailed("broken"))  # it ended without saying so

    def _failed(self, error: EventTooLarge | UpstreamFailed) -> UpstreamFailed:
        failure = error if isinstance(error, UpstreamFailed) else UpstreamFailed("too-large")
        self._answer.failed(failure.cause)
        return failure
