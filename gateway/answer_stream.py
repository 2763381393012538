"""A streamed answer on its way: values put back, held until it has passed, recorded before its end is sent.

What is held back for good ends the stream with what the client gets instead; see `surfaces.handed_over`. Until its
first event is there, nothing was promised to the client, and another upstream may still take over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING

import orjson

from sovctl.gateway import log
from sovctl.gateway.errors import Code, Refused, UpstreamFailed
from sovctl.gateway.exchange import Exchange
from sovctl.gateway.quota.need import usage_in
from sovctl.gateway.release.gated import gated
from sovctl.gateway.release.stream import Gate
from sovctl.gateway.release.verdict import Blocked
from sovctl.gateway.sse import EventTooLarge, Framer
from sovctl.gateway.surfaces.handed_over import Instead
from sovctl.gateway.upstream import Answer

if TYPE_CHECKING:
    from sovctl.gateway.delivery import Delivery

# How an answer ended, as its record says.
ANSWERED = "answered"
CLIENT_LEFT = "client-left"
HANDED_OVER = "handed_over"


class AnswerStream:
    """An answer that is being streamed. `close` must be called, whether it was read to its end or not."""

    def __init__(self, delivery: Delivery, exchange: Exchange, answer: Answer) -> None:
        self._delivery = delivery
        self._exchange = exchange
        self._answer = answer
        self._events = exchange.surface.stream(exchange.restoration(delivery.bounds))
        self._hasher = delivery.audit.hasher()
        self._ending = exchange.surface.ending(exchange.body) if exchange.checks is not None else None
        self._gate = self._new_gate()
        self._pieces = self._restored() if self._gate is None else gated(self._gate, self._restored())
        self._first = b""
        self.instead: Instead | None = None
        """What the client gets when nothing of the answer goes out."""
        self._is_recorded = False
        self._reason = ""
        self._began_ns = time.time_ns() if exchange.trace is not None else 0
        self._inter_token_s = delivery.metrics.inter_token_s.at(exchange.surface.name, exchange.route.model)

    async def begin(self) -> None:
        """Wait for the first event.

        Raises:
            UpstreamFailed: there is none.
            Blocked: it may not go, and nothing went before it.
        """
        try:
            async with asyncio.timeout_at(self._exchange.deadline_s):
                self._first = await anext(self._pieces)
        except StopAsyncIteration:
            raise UpstreamFailed("empty") from None
        except TimeoutError:
            self._answer.note("deadline")
            raise UpstreamFailed("deadline") from None

    @property
    def heard(self) -> list[str]:
        """What the model said so far."""
        return self._gate.heard if self._gate is not None else []

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Framed events, to the answer's end or to what stands in its place."""
        exchange = self._exchange
        try:
            try:
                if self.instead is None:
                    self._hasher.update(self._first)
                    yield self._first
                    observe = self._inter_token_s.observe
                    before = time.perf_counter()
                    async for each in self._pieces:
                        now = time.perf_counter()
                        observe(now - before)
                        before = now
                        self._hasher.update(each)
                        yield each
                    last = b"".join(self._events.last())
                    if (gate := self._gate) is not None:
                        last = gate.feed(last) + gate.flush()
                        if gate.blocked is not None:
                            yield last
                        gate.check()
                    await self._end(ANSWERED)
                    yield last
                    return
            except Blocked as blocked:
                log.event("stream held back", level=30, reason=str(blocked), request_id=exchange.request_id)
                self.instead = await self._delivery.held_back(exchange, blocked, self.heard)
            assert self._ending is not None
            last = b"".join(self._ending.events(self.instead))
            self._hasher.update(last)
            await self._end(HANDED_OVER)
            yield last
        except (UpstreamFailed, Refused) as error:
            code = error.code if isinstance(error, Refused) else Code.UPSTREAM_FAILED
            log.event("stream broke off", level=30, reason=str(error), request_id=exchange.request_id)
            self._record(code.value)
            yield exchange.surface.error_event(code, request_id=exchange.request_id)

    async def _end(self, reason: str) -> None:
        self._is_recorded = True  # or refused: not twice in any case
        self._reason = reason
        await self._delivery.ended(self._exchange, reason, self._hasher.hexdigest())

    async def close(self) -> None:
        """Let go of the upstream, and see to it that the end is recorded."""
        exchange = self._exchange
        self._answer.release()
        exchange.settle()
        self._record(CLIENT_LEFT)
        if (trace := exchange.trace) is not None:
            if exchange.judge is not None:
                trace.past("release", self._began_ns, {"verdict": exchange.judge.verdicts.worst.value})
            exchange.end_trace(status=200, reason=self._reason)
        await self._pieces.aclose()

    def _record(self, reason: str) -> None:
        if not self._is_recorded:
            self._reason = reason
            self._is_recorded = True
            self._delivery.end_in_background(self._exchange, reason, self._hasher.hexdigest())

    def _is_usage_alone(self, data: bytes) -> bool:
        """Note what an event says about use; True when it says nothing else, and the client did not ask for it."""
        if b'"usage"' not in data:
            return False
        try:
            told = orjson.loads(data)
        except orjson.JSONDecodeError:
            return False  # whoever restores it will say so
        exchange = self._exchange
        if (said := usage_in(told)) is None:
            return False
        exchange.usage = said if exchange.usage is None else exchange.usage.later(said)
        return exchange.hides_usage and not told.get("choices")

    def _new_gate(self) -> Gate | None:
        judge = self._exchange.new_judge()
        if judge is None:
            return None
        observe = self._delivery.metrics.release_hold_s.at(self._exchange.route.model).observe
        sent = self._ending.sent if self._ending is not None else lambda _: None
        return Gate(judge, self._exchange.surface, clock=time.monotonic, observe=observe, sent=sent)

    async def _restored(self) -> AsyncGenerator[bytes]:
        """Restored events, framed for the client, without those that end the stream."""
        framer = Framer(max_event_bytes=self._delivery.limits.max_event_bytes)
        events, is_counted = self._events, bool(self._exchange.reservation.accounts)
        try:
            async for chunk in self._answer.chunks():
                told = framer.feed(chunk)
                if is_counted:
                    told = [data for data in told if not self._is_usage_alone(data)]
                restored = [each for data in told for each in events.feed(data)]
                if restored:
                    yield b"".join(restored)
                if events.is_finished:
                    self._answer.finished()
                    return
            raise UpstreamFailed("broken")  # it ended without saying so
        except (EventTooLarge, UpstreamFailed) as error:
            cause = error.cause if isinstance(error, UpstreamFailed) else "too-large"
            self._answer.failed(cause)
            raise UpstreamFailed(cause) from None
