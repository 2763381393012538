"""Brings an answer to the client: values put back, recorded before its end is sent.

A whole answer is recorded before its first byte, a stream before its final event; when that record can't be written,
the client does not get the end. Until a stream's first event is there, nothing was promised to the client, and another
upstream may still take over.
"""

from __future__ import annotations

import asyncio

import orjson

from ..audit.audit_log import AuditLog
from ..domain.errors import Code, Refused, UpstreamFailed
from ..exchange.sent import Exchange
from ..handoff.desk import Desk
from ..quota.need import usage_said
from ..release.verdict import Blocked
from ..release.whole import release_whole
from ..settings import Limits
from ..settings.release import OnFailure
from ..surfaces.handed_over import Ending, ReplacementAnswer
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..telemetry.tracing import span
from ..tokens.restore import RestoreBounds
from ..upstream import Answer
from .answer_stream import ANSWERED, CLIENT_LEFT, HANDED_OVER, AnswerStream
from .escalation import Made

_JUDGE_ASIDE_BYTES = 64 << 10  # larger answers are judged in a thread, so that others are served meanwhile


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
        self.max_answer_bytes, self.max_event_bytes = limits.max_answer_bytes, limits.max_event_bytes
        self.bounds = bounds
        self.metrics = metrics
        self._desk = desk
        self._endings = endings if endings is not None else set()

    async def read(self, exchange: Exchange, answer: Answer) -> Made:
        """An answer that is not streamed, its values put back.

        Raises:
            UpstreamFailed: it is not an answer.
        """
        surface = exchange.request.surface
        try:
            data = await answer.read(at_most=self.max_answer_bytes)
            said = surface.parsed(data)
            if exchange.reservation.accounts and isinstance(said, dict):
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
            UpstreamFailed: it nests deeper than it can be written again.
        """
        if (judge := exchange.new_judge()) is not None:
            try:
                with span(exchange.request.trace, "release") as traced:
                    if made.size_bytes > _JUDGE_ASIDE_BYTES:
                        await asyncio.to_thread(release_whole, judge, exchange.request.surface, made.answer)
                    else:
                        release_whole(judge, exchange.request.surface, made.answer)
                    if traced is not None:
                        traced.say({"verdict": judge.verdicts.worst.value})
            except Blocked as blocked:
                heard = [said.text for said in exchange.request.surface.strings_of(made.answer)]
                instead = await self._instead(exchange, blocked, heard)
                content = exchange.request.surface.written(_ending(exchange).whole(instead))
                await self.ended(exchange, HANDED_OVER, self.audit.digest(content))
                return content
        try:
            content = exchange.request.surface.written(made.answer)
        except orjson.JSONEncodeError:
            raise UpstreamFailed("protocol") from None
        await self.ended(exchange, ANSWERED, self.audit.digest(content))
        return content

    async def begin(self, exchange: Exchange, answer: Answer) -> AnswerStream:
        """The stream of an answer, once its first event is there.

        Raises:
            UpstreamFailed: there is none.
        """
        try:
            stream = AnswerStream(self, exchange, answer)
            await stream.begin()
        except Blocked as blocked:
            answer.release()
            stream.instead = await self._instead(exchange, blocked, stream.heard)
        except BaseException:
            answer.release()
            raise
        return stream

    async def _instead(self, exchange: Exchange, blocked: Blocked, heard: list[str]) -> ReplacementAnswer:
        """As `held_back`, for an answer of which nothing went out; a refusal is recorded.

        Raises:
            Refused: as there.
        """
        try:
            return await self.held_back(exchange, blocked, heard)
        except Refused as refused:
            await self.ended(exchange, refused.code.value, self.audit.digest(b""), status=refused.status)
            raise

    async def held_back(self, exchange: Exchange, blocked: Blocked, heard: list[str]) -> ReplacementAnswer:
        """What the client gets instead of an answer that did not pass, which is in a person's queue then.

        Args:
            heard: what the model said.

        Raises:
            Refused: the site wants no person to look at it, or none can.
        """
        judge = exchange.judge
        if self._desk is None or judge is None or judge.on_failure(blocked.outcome) is not OnFailure.HAND_OFF:
            raise Refused(Code.ANSWER_WITHHELD)
        if exchange.request.surface.ending(exchange.body) is None:
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
                self.metrics.release_checks.add(exchange.request.route.model, check, verdict.value)
        with span(exchange.request.trace, "audit"):
            await self.audit.answer(
                exchange.request.request_id,
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
        self.end_in_background(exchange, CLIENT_LEFT, self.audit.hasher().hexdigest())

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
            log.event("end of a broken answer not recorded", level=40, request_id=exchange.request.request_id)


def _ending(exchange: Exchange) -> Ending:
    ending = exchange.request.surface.ending(exchange.body)
    assert ending is not None, "an answer is handed over only where its API has a form for that"
    return ending
