"""Brings an answer to the client: values put back, recorded before its end is sent.

A whole answer is recorded before its first byte, a stream before its final event; when that record can't be written,
the client does not get the end. Until a stream's first event is there, nothing was promised to the client, and another
upstream may still take over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Protocol

import orjson

from sovctl.gateway import log
from sovctl.gateway.audit import AuditLog
from sovctl.gateway.errors import Code, Refused, UpstreamFailed
from sovctl.gateway.escalation import Made
from sovctl.gateway.exchange import Exchange
from sovctl.gateway.handoff.desk import Desk
from sovctl.gateway.metrics import Metrics
from sovctl.gateway.quota.need import usage_in, usage_said
from sovctl.gateway.release.gated import gated
from sovctl.gateway.release.stream import Gate
from sovctl.gateway.release.verdict import Blocked
from sovctl.gateway.release.whole import release_whole
from sovctl.gateway.restore import RestoreBounds
from sovctl.gateway.settings import Limits
from sovctl.gateway.settings.release import OnDoubt
from sovctl.gateway.sse import EventTooLarge, Framer
from sovctl.gateway.surfaces.handed_over import Ending, Instead
from sovctl.gateway.tracing import span
from sovctl.gateway.upstream import Answer

_JUDGE_ASIDE_BYTES = 64 << 10  # larger answers are judged in a thread, so that others are served meanwhile
_CLIENT_LEFT = "client-left"
_ANSWERED = "answered"
_HANDED_OVER = "handed_over"


class AnswerStream(Protocol):
    """An answer that is being streamed. `close` must be called, whether it was read to its end or not."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Framed events."""

    async def close(self) -> None:
        """Let go of the upstream, and see to it that the end is recorded."""


class Delivery:
    """Delivers answers, and writes their last audit record.

    Args:
        endings: records on their way that nobody waits for; shared by all deliveries of a process.
    """

    def __init__(
        self,
        audit: AuditLog,
        metrics: Metrics,
        limits: Limits,
        bounds: RestoreBounds,
        endings: set[asyncio.Task[None]] | None = None,
        desk: Desk | None = None,
    ) -> None:
        self.audit = audit
        self.limits = limits
        self.bounds = bounds
        self.metrics = metrics
        self._desk = desk
        self._endings = endings if endings is not None else set()

    async def read(self, exchange: Exchange, answer: Answer) -> Made:
        """An answer that is not streamed, its values put back.

        Raises:
            UpstreamFailed: it is not an answer.
        """
        surface = exchange.surface
        try:
            data = await answer.read(at_most=self.limits.max_answer_bytes)
            said = surface.parsed(data)
            if isinstance(said, dict):
                exchange.usage = usage_said(said.get("usage"))
            made = surface.whole(said, exchange.restoration(self.bounds))
        except UpstreamFailed as error:
            answer.failed(error.cause)
            raise
        finally:
            answer.release()
        return Made(made, len(data))

    async def whole(self, exchange: Exchange, made: Made) -> bytes:
        """The body of an answer that is not streamed; its record is durable.

        Raises:
            Refused: its record could not be written, or it must not be released.
        """
        if (judge := exchange.new_judge()) is not None:
            try:
                with span(exchange.trace, "release") as traced:
                    if made.size_bytes > _JUDGE_ASIDE_BYTES:
                        await asyncio.to_thread(release_whole, judge, exchange.surface, made.answer)
                    else:
                        release_whole(judge, exchange.surface, made.answer)
                    if traced is not None:
                        traced.say({"verdict": judge.verdicts.worst.value})
            except Blocked as blocked:
                heard = [said.text for said in exchange.surface.said(made.answer)]
                instead = await self._instead(exchange, blocked, heard)
                content = exchange.surface.written(_ending(exchange).whole(instead))
                await self.ended(exchange, _HANDED_OVER, self.audit.digest(content))
                return content
        content = exchange.surface.written(made.answer)
        await self.ended(exchange, _ANSWERED, self.audit.digest(content))
        return content

    async def begin(self, exchange: Exchange, answer: Answer) -> AnswerStream:
        """The stream of an answer, once its first event is there.

        Raises:
            UpstreamFailed: there is none.
        """
        stream = _Stream(self, exchange, answer)
        try:
            await stream.begin()
        except Blocked as blocked:
            answer.release()
            stream.instead = await self._instead(exchange, blocked, stream.heard)
        except BaseException:
            answer.release()
            raise
        return stream

    async def _instead(self, exchange: Exchange, blocked: Blocked, heard: list[str]) -> Instead:
        """As `held_back`, for an answer of which nothing went out; a refusal is recorded.

        Raises:
            Refused: as there.
        """
        try:
            return await self.held_back(exchange, blocked, heard)
        except Refused as refused:
            await self.ended(exchange, refused.code.value, self.audit.digest(b""), status=refused.status)
            raise

    async def held_back(self, exchange: Exchange, blocked: Blocked, heard: list[str]) -> Instead:
        """What the client gets instead of an answer that did not pass, which is in a person's queue then.

        Args:
            heard: what the model said.

        Raises:
            Refused: the site wants no person to look at it, or none can.
        """
        judge = exchange.judge
        if self._desk is None or judge is None or judge.on_doubt(blocked.outcome) is not OnDoubt.HAND_OFF:
            raise Refused(Code.ANSWER_WITHHELD)
        if exchange.surface.ending(exchange.body) is None:
            raise Refused(Code.ANSWER_WITHHELD)
        return await self._desk.hand_over(exchange, heard)

    async def ended(self, exchange: Exchange, reason: str, digest: str, *, status: int = 200) -> None:
        """Record the end of an answer.

        Raises:
            Refused: not durable.
        """
        counts = exchange.counts
        for name in ("restored", "withheld", "unknown", "malformed", "capped"):
            if getattr(counts, name):
                self.metrics.tokens.add(name, by=getattr(counts, name))
        release = None
        if exchange.judge is not None:
            release = exchange.judge.verdicts.plain()
            for check, verdict in exchange.judge.verdicts.of.items():
                self.metrics.release_checks.add(exchange.route.model, check, verdict.value)
        with span(exchange.trace, "audit"):
            await self.audit.answer(
                exchange.request_id,
                status=status,
                upstream=exchange.upstream,
                reason=reason,
                counts=counts,
                digest=digest,
                attempts=exchange.attempts.words(),
                release=release,
                handoff_id=exchange.handoff_id,
            )

    def client_left(self, exchange: Exchange) -> None:
        """Record that the client left before its answer was there."""
        self.end_in_background(exchange, _CLIENT_LEFT, self.audit.hasher().hexdigest())

    def end_in_background(self, exchange: Exchange, reason: str, digest: str) -> None:
        """Record an end that nobody waits for: the client has left, or gets an error in any case."""
        task = asyncio.create_task(self._end_quietly(exchange, reason, digest))
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    async def close(self) -> None:
        """Wait for the records on their way."""
        await asyncio.gather(*self._endings)

    async def _end_quietly(self, exchange: Exchange, reason: str, digest: str) -> None:
        try:
            await self.ended(exchange, reason, digest)
        except Refused:
            log.event("end of a broken answer not recorded", level=40, request_id=exchange.request_id)


class _Stream:
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
                    await self._end(_ANSWERED)
                    yield last
                    return
            except Blocked as blocked:
                log.event("stream held back", level=30, reason=str(blocked), request_id=exchange.request_id)
                self.instead = await self._delivery.held_back(exchange, blocked, self.heard)
            assert self._ending is not None
            last = b"".join(self._ending.events(self.instead))
            self._hasher.update(last)
            await self._end(_HANDED_OVER)
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
        exchange = self._exchange
        self._answer.release()
        exchange.settle()
        self._record(_CLIENT_LEFT)
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


def _ending(exchange: Exchange) -> Ending:
    ending = exchange.surface.ending(exchange.body)
    assert ending is not None, "an answer is handed over only where its API has a form for that"
    return ending
